"""Is an answer right? Text, numbers, dates, lists and tables, by code."""

"""Small files in the forms in which the public sets are published."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HOTPOT = [
    {
        "_id": "5a8b57f2",
        "question": "Were the founders of Quill and of Marrow born in the same town?",
        "answer": "yes",
        "type": "comparison",
        "level": "hard",
        "supporting_facts": [["Ada Quill", 0], ["Bo Marrow", 1]],
        "context": [
            ["Ada Quill", ["Ada Quill founded Quill.", " She was born in Tarn."]],
            ["Bo Marrow", ["Bo Marrow founded Marrow.", " He was born in Tarn, too."]],
            ["Tarn", ["Tarn is a town."]],
        ],
    },
    {
        "_id": "5a8c7595",
        "question": "When was the town in which Ada Quill was born founded?",
        "answer": "14 April 1912",
        "type": "bridge",
        "level": "medium",
        "supporting_facts": [["Ada Quill", 1], ["Tarn", 1]],
        "context": [
            ["Ada Quill", ["Ada Quill founded Quill.", " She was born in Tarn."]],
            ["Tarn", ["Tarn is a town.", " It was founded on 14 April 1912."]],
        ],
    },
]
HOTPOT_COLUMNS = [
    {
        "id": row["_id"],
        "question": row["question"],
        "answer": row["answer"],
        "type": row["type"],
        "level": row["level"],
        "supporting_facts": {
            "title": [fact[0] for fact in row["supporting_facts"]],
            "sent_id": [fact[1] for fact in row["supporting_facts"]],
        },
        "context": {
            "title": [item[0] for item in row["context"]],
            "sentences": [item[1] for item in row["context"]],
        },
    }
    for row in HOTPOT
]
TWO_WIKI = [
    {
        **HOTPOT[1],
        "_id": "8813f87c",
        "type": "compositional",
        "evidences": [["Ada Quill", "place of birth", "Tarn"], ["Tarn", "inception", "14 April 1912"]],
    }
]
MUSIQUE = [
    {
        "id": "2hop__482757_12019",
        "paragraphs": [
            {"idx": 0, "title": "Tarn", "paragraph_text": "Tarn lies on the river Ouse.", "is_supporting": True},
            {"idx": 1, "title": "Ouse", "paragraph_text": "The Ouse is 79 miles long.", "is_supporting": True},
            {"idx": 2, "title": "Tarn", "paragraph_text": "Tarn has a mill.", "is_supporting": False},
        ],
        "question": "How long is the river on which Tarn lies?",
        "question_decomposition": [
            {"id": 1, "question": "Tarn >> river", "answer": "Ouse", "paragraph_support_idx": 0},
            {"id": 2, "question": "#1 >> length", "answer": "79 miles", "paragraph_support_idx": 1},
        ],
        "answer": "79 miles",
        "answer_aliases": ["127 km"],
        "answerable": True,
    },
    {"id": "2hop__1", "paragraphs": [], "question": "?", "answer": "x", "answer_aliases": [], "answerable": False},
]
WIDE = [
    {
        "instance_id": "ws_en_001",
        "query": "List the towns on the Ouse with the year and the population.",
        "language": "en",
        "evaluation": json.dumps(
            {
                "unique_columns": ["town"],
                "required": ["town", "founded", "population"],
                "eval_pipeline": {
                    "town": {"preprocess": ["norm_str"], "metric": ["exact_match"]},
                    "founded": {"preprocess": ["norm_date"], "metric": ["date_near"], "criterion": 0},
                    "population": {"preprocess": ["extract_number"], "metric": ["number_near"], "criterion": 0.05},
                },
            }
        ),
    }
]
WIDE_GOLD = 'Town,Founded,Population\nTarn,1912,"1,200"\nBarrow,March 1850,3400\n'
PLAIN = [
    {"id": "a", "question": "Who founded Quill?", "answer": "Ada Quill"},
    {"question": "Who founded Marrow?", "golden_answers": ["Bo Marrow", "Robert Marrow"]},
    {"question": "How many towns?", "answer": 2},
    {"question": "Which towns?", "answer": {"kind": "list", "values": ["Tarn", "Barrow"]}},
    {"question": "Is Tarn a town?", "answer": True, "mask_url": "HTTPS://Example.org:443/tarn#top"},
]
LITE = [
    {
        "data_source": "lite",
        "prompt": [{"role": "system", "content": "s"}, {"role": "user", "content": "Who founded Quill?"}],
        "reward_model": {"ground_truth": "Ada Quill"},
        "extra_info": {"question": "Who founded Quill?", "mask_url": "https://example.org/quill"},
    }
]
SEARCH_R1 = [
    {
        "id": "train_0",
        "question": "Who founded Quill?",
        "golden_answers": ["Ada Quill"],
        "reward_model": {"style": "rule", "ground_truth": {"target": ["Ada Quill"]}},
    }
]
PAIRS = [
    {
        "url": "https://example.org/quill",
        "qa_pairs": [{"question": "Who?", "answer": "Ada"}, {"question": "Where?", "answer": "Tarn"}],
    }
]


def write_json(path: Path, rows: Any) -> Path:
    """One JSON document."""
    path.write_text(json.dumps(rows, ensure_ascii=False, indent=1), encoding="utf-8")
    return path


def write_lines(path: Path, rows: Iterable[Any]) -> Path:
    """JSON lines; texts are written as they are."""
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path

"""Measures of simulated observations against real ones, and benchmarks made of them."""

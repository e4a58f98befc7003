"""AgentWorldBench: how well a model predicts what real environments answer (Qwen-AgentWorld report, section 5)."""

from agentworld_envs.evaluation.agentworldbench.asking import ModelConfig
from agentworld_envs.evaluation.agentworldbench.convert import record_rows
from agentworld_envs.evaluation.agentworldbench.domain import BenchmarkDomain, as_action
from agentworld_envs.evaluation.agentworldbench.export import export_rows
from agentworld_envs.evaluation.agentworldbench.judge_prompts import JudgePrompts
from agentworld_envs.evaluation.agentworldbench.rows import DOMAINS, Defect, Row, RowSet, read_rows
from agentworld_envs.evaluation.agentworldbench.run import STEPS, BenchmarkRun
from agentworld_envs.evaluation.agentworldbench.verdict import DIMENSIONS, Judgement, NoJudgement, parse_judgement

__all__ = [
    "DIMENSIONS",
    "DOMAINS",
    "STEPS",
    "BenchmarkDomain",
    "BenchmarkRun",
    "Defect",
    "JudgePrompts",
    "Judgement",
    "ModelConfig",
    "NoJudgement",
    "Row",
    "RowSet",
    "as_action",
    "export_rows",
    "parse_judgement",
    "read_rows",
    "record_rows",
]

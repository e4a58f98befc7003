"""`AnswerSpec`: what the right answer to a question is, as it stands in `task.verifier["answer"]`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from agentworld_envs.domains.search.answers.dates import Day, parse_date
from agentworld_envs.domains.search.answers.normal import normalise
from agentworld_envs.interface import TaskError

DEFAULT_TOLERANCE = 0.005
"""Relative; of fractions that say nothing else. Whole numbers that say nothing else are exact."""


class _Spec(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TextSpec(_Spec):
    """One text, or another name of the same thing."""

    kind: Literal["text"] = "text"
    value: str
    aliases: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _says_something(self) -> TextSpec:
        if not normalise(self.value):
            raise ValueError(f"nothing can be compared with the text {self.value!a}")
        return self


class NumberSpec(_Spec):
    """One number."""

    kind: Literal["number"] = "number"
    value: float = Field(allow_inf_nan=False)
    tolerance: float | None = Field(default=None, ge=0, le=1)
    """Relative; by default 0 for a whole number and `DEFAULT_TOLERANCE` for a fraction."""
    unit: str | None = None
    """An answer in another or an unknown unit is wrong, one without a unit is in this one. Without it, any unit is
    right, and so is a percentage, of this many percent or of this value."""

    @property
    def allowed(self) -> float:
        """The tolerance that holds."""
        if self.tolerance is not None:
            return self.tolerance
        return 0.0 if self.value.is_integer() else DEFAULT_TOLERANCE


class DateSpec(_Spec):
    """A day, a month or a year: `1902-03-04`, `1902-03` or `1902`."""

    kind: Literal["date"] = "date"
    value: str = Field(pattern=r"^\d{4}(?:-\d{2}(?:-\d{2})?)?$")

    @model_validator(mode="after")
    def _in_the_calendar(self) -> DateSpec:
        if not parse_date(self.value):
            raise ValueError(f"no calendar has the date {self.value!r}")
        return self

    @property
    def day(self) -> Day:
        """The date, as precise as it is known."""
        return Day(*map(int, self.value.split("-")))


class BooleanSpec(_Spec):
    """Yes or no."""

    kind: Literal["boolean"] = "boolean"
    value: bool


Single = Annotated[TextSpec | NumberSpec | DateSpec | BooleanSpec, Field(discriminator="kind")]


class ListSpec(_Spec):
    """One or more values; those that are plain texts have no aliases."""

    kind: Literal["list"] = "list"
    values: tuple[str | Single, ...] = Field(min_length=1)
    ordered: bool = False


class ColumnSpec(_Spec):
    """A column of a table."""

    name: str = Field(min_length=1)
    kind: Literal["text", "number", "date", "boolean"] = "text"
    aliases: tuple[str, ...] = ()
    """Other names of the column."""
    tolerance: float | None = Field(default=None, ge=0, le=1)
    """Of its numbers, as in `NumberSpec`."""
    unit: str | None = None


class TableSpec(_Spec):
    """One or more rows of cells.

    A cell is a value, a list of texts that are all right, or `null` for one that has to be empty.
    """

    kind: Literal["table"] = "table"
    columns: tuple[ColumnSpec, ...] = Field(min_length=1)
    key: tuple[str, ...] = Field(min_length=1)
    """Names of the columns that tell rows apart."""
    rows: tuple[tuple[Any, ...], ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _square(self) -> TableSpec:
        names = [column.name for column in self.columns]
        if len(set(names)) != len(names):
            raise ValueError(f"two columns have the same name: {names}")
        if unknown := [name for name in self.key if name not in names]:
            raise ValueError(f"the key names {unknown}, but the columns are {names}")
        for number, row in enumerate(self.rows):
            if len(row) != len(names):
                raise ValueError(f"row {number} has {len(row)} cells, expected {len(names)}")
        return self

    def cell(self, row: int, column: int) -> TextSpec | NumberSpec | DateSpec | BooleanSpec | None:
        """What has to stand in a cell; `None` when nothing.

        Raises:
            ValidationError: the cell is not of its column's kind.
        """
        value, kind = self.rows[row][column], self.columns[column]
        if value is None or value == "" or value == []:
            return None
        if kind.kind == "number":
            return NumberSpec(value=value, tolerance=kind.tolerance, unit=kind.unit)
        if kind.kind == "date":
            return DateSpec(value=str(value))
        if kind.kind == "boolean":
            return BooleanSpec(value=value)
        first, *others = value if isinstance(value, list | tuple) else [value]
        return TextSpec(value=str(first), aliases=tuple(map(str, others)))


AnswerSpec = Annotated[
    TextSpec | NumberSpec | DateSpec | BooleanSpec | ListSpec | TableSpec, Field(discriminator="kind")
]
_ADAPTER: TypeAdapter[Any] = TypeAdapter(AnswerSpec)


def read_spec(spec: Mapping[str, Any] | BaseModel) -> Any:
    """A spec from its JSON form.

    Raises:
        TaskError: it is broken; names the field.
    """
    if isinstance(spec, BaseModel):
        return spec
    try:
        read = _ADAPTER.validate_python(spec)
        if isinstance(read, TableSpec):
            for row in range(len(read.rows)):
                for column in range(len(read.columns)):
                    read.cell(row, column)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "answer"
        raise TaskError(
            f"The task's answer cannot be checked: {where}: {first['msg']}. Expected a kind of text, number, date, "
            f"boolean, list or table with its fields."
        ) from error
    return read

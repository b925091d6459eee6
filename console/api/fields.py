"""Kinds of fields whose rules the domain keeps, written down for readers of the API's document.

But for numbers and flags, which are taken as they are written and made of nothing else, they check
nothing: a refusal is the domain's own sentence. No text holds a null character.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, JsonValue, Strict
from pydantic_core import PydanticKnownError

from plans.schemas import VISIBLE

Json = dict[str, JsonValue]

SLUG = "^[a-z0-9]+([-_][a-z0-9]+)*$"
HEADER: Json = {"type": "string", "pattern": "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$"}
ONE_LINE: Json = {"type": "string", "pattern": "^[ -~]*$"}

NotBlank = Annotated[str, Field(json_schema_extra={"pattern": VISIBLE})]
ModelName = Annotated[
    str, Field(json_schema_extra={"pattern": "^[!-.0-~]+/[!-~]{1,200}$"})
]  # provider/model
ShortName = Annotated[str, Field(json_schema_extra={"pattern": SLUG, "maxLength": 32})]
WebAddress = Annotated[str, Field(json_schema_extra={"pattern": r"^https?://[A-Za-z0-9]"})]
Secret = Annotated[str, Field(json_schema_extra={"pattern": "^[!-~]*$", "maxLength": 500})]
Headers = Annotated[
    dict[str, str],
    Field(json_schema_extra={"propertyNames": HEADER, "additionalProperties": ONE_LINE}),
]


def number_as_written(value: object) -> object:
    """Raises the error of a wrong type for what would be read as a number; 3.0 is a whole one."""
    if isinstance(value, bool | str):
        raise PydanticKnownError("int_type")
    return value


# A yes is never read out of another value: true is no version, and "yes" no flag.
AsWritten = BeforeValidator(number_as_written)
Whole = Annotated[int, AsWritten]
Flag = Annotated[bool, Strict()]
Count = Annotated[int, AsWritten, Field(json_schema_extra={"minimum": 1})]
Amount = Annotated[float, AsWritten, Field(json_schema_extra={"exclusiveMinimum": 0})]

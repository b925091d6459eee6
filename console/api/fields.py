"""Kinds of fields whose rules the domain keeps, written down for readers of the API's document.

But for numbers and flags, which are taken as they are written and made of nothing else, they check
nothing: a refusal is the domain's own sentence. No text holds a null character.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, JsonValue, Strict

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
# A yes is never read out of another value: true is no version, and "yes" no flag.
Whole = Annotated[int, Strict()]
Flag = Annotated[bool, Strict()]
Count = Annotated[int, Strict(), Field(json_schema_extra={"minimum": 1})]
Amount = Annotated[float, Strict(), Field(json_schema_extra={"exclusiveMinimum": 0})]

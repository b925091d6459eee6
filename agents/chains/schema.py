"""A chain: JSON that says how an agent thinks. Ordinary chat is itself one."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

END = "end"


class Branch(BaseModel):
    """Where to go when the task's result meets a condition. Branches are tried in order."""

    model_config = ConfigDict(extra="forbid")

    operator: Literal["equals", "contains", "starts_with", "ends_with", "default"] = "default"
    when: str = ""
    goto: str


class Transition(BaseModel):
    model_config = ConfigDict(extra="forbid")

    branches: list[Branch] = Field(default_factory=list)


class ExecuteConfig(BaseModel):
    """Who answers, with which tools: nothing listed = none, `*` = all, `!x` = not x."""

    model_config = ConfigDict(extra="forbid")

    model: str | None = None
    provider: str | None = None
    temperature: float | None = None
    tools: list[str] = Field(default_factory=list)


class Task(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: str = Field(min_length=1)
    description: str = ""
    handler: Literal["chat_completion", "execute_tool_calls"]
    system_instruction: str = ""
    execute_config: ExecuteConfig = Field(default_factory=ExecuteConfig)
    input_var: str = ""
    transition: Transition = Field(default_factory=Transition)


class Chain(BaseModel):
    """`token_limit` 0 means the model's own window."""

    model_config = ConfigDict(extra="forbid")

    id: str = Field(min_length=1)
    description: str = ""
    token_limit: int = Field(default=0, ge=0)
    tasks: list[Task] = Field(min_length=1)

    @model_validator(mode="after")
    def gotos_exist(self) -> Self:
        ids = [task.id for task in self.tasks]
        if len(set(ids)) != len(ids):
            raise ValueError("two tasks have the same id")
        for task in self.tasks:
            for branch in task.transition.branches:
                if branch.goto not in (*ids, END):
                    raise ValueError(f"task {task.id} goes to {branch.goto}, which does not exist")
            if task.input_var and task.input_var not in ids:
                raise ValueError(f"task {task.id} reads {task.input_var}, which does not exist")
        return self

    def task(self, id: str) -> Task:
        return next(task for task in self.tasks if task.id == id)

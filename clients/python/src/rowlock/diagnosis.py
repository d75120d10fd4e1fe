"""Why a server does not answer, as errors have it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

DiagnosisKind = Literal[
    "nobody_listens",
    "no_such_host",
    "other_protocol",
    "wants_tls",
    "wants_plain_text",
    "untrusted",
    "expired",
    "wrong_name",
    "wants_client_certificate",
    "silent",
    "unreachable",
]
"""What is wrong at an address."""

# No waiting heals these.
_LASTING = (
    "other_protocol",
    "wants_tls",
    "wants_plain_text",
    "untrusted",
    "expired",
    "wrong_name",
    "wants_client_certificate",
)


@dataclass(frozen=True)
class Diagnosis:
    """What was found at the address of a server that does not answer."""

    address: str
    kind: DiagnosisKind
    sentence: str
    """What is there and what to do, for people, without a full stop. Its wording may change."""

    def __str__(self) -> str:
        return f"{self.address}: {self.sentence}"

    @property
    def is_lasting(self) -> bool:
        """Whether it stays so until somebody changes the client's options or what is at the address."""
        return self.kind in _LASTING


def sentences_of(diagnoses: tuple[Diagnosis, ...]) -> str:
    """Return one sentence about each address."""
    return " ".join(f"{each}." for each in diagnoses)

from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from typing import ClassVar as _ClassVar

DESCRIPTOR: _descriptor.FileDescriptor

class ErrorReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ERROR_REASON_UNSPECIFIED: _ClassVar[ErrorReason]
    ERROR_REASON_BAD_REQUEST: _ClassVar[ErrorReason]
    ERROR_REASON_MALFORMED_MESSAGE: _ClassVar[ErrorReason]
    ERROR_REASON_UNKNOWN_CLAIM: _ClassVar[ErrorReason]
    ERROR_REASON_UNKNOWN_LOCK: _ClassVar[ErrorReason]
    ERROR_REASON_LEASE_LOST: _ClassVar[ErrorReason]
    ERROR_REASON_NOT_GRANTED_YET: _ClassVar[ErrorReason]
    ERROR_REASON_LOCK_IN_USE: _ClassVar[ErrorReason]
    ERROR_REASON_REQUEST_ID_REUSED: _ClassVar[ErrorReason]
    ERROR_REASON_VERSION_MISMATCH: _ClassVar[ErrorReason]
    ERROR_REASON_OVERLOADED: _ClassVar[ErrorReason]
    ERROR_REASON_MESSAGE_TOO_LARGE: _ClassVar[ErrorReason]
    ERROR_REASON_OUTCOME_UNKNOWN: _ClassVar[ErrorReason]
    ERROR_REASON_DATABASE_UNAVAILABLE: _ClassVar[ErrorReason]
    ERROR_REASON_SHUTTING_DOWN: _ClassVar[ErrorReason]
    ERROR_REASON_KEYS_UNAVAILABLE: _ClassVar[ErrorReason]
    ERROR_REASON_SESSION_SILENT: _ClassVar[ErrorReason]
    ERROR_REASON_CREDENTIALS_MISSING: _ClassVar[ErrorReason]
    ERROR_REASON_CREDENTIALS_WRONG: _ClassVar[ErrorReason]
    ERROR_REASON_CREDENTIALS_EXPIRED: _ClassVar[ErrorReason]
    ERROR_REASON_RIGHT_MISSING: _ClassVar[ErrorReason]
    ERROR_REASON_TIMEOUT: _ClassVar[ErrorReason]
    ERROR_REASON_CANCELLED: _ClassVar[ErrorReason]
    ERROR_REASON_INTERNAL: _ClassVar[ErrorReason]
ERROR_REASON_UNSPECIFIED: ErrorReason
ERROR_REASON_BAD_REQUEST: ErrorReason
ERROR_REASON_MALFORMED_MESSAGE: ErrorReason
ERROR_REASON_UNKNOWN_CLAIM: ErrorReason
ERROR_REASON_UNKNOWN_LOCK: ErrorReason
ERROR_REASON_LEASE_LOST: ErrorReason
ERROR_REASON_NOT_GRANTED_YET: ErrorReason
ERROR_REASON_LOCK_IN_USE: ErrorReason
ERROR_REASON_REQUEST_ID_REUSED: ErrorReason
ERROR_REASON_VERSION_MISMATCH: ErrorReason
ERROR_REASON_OVERLOADED: ErrorReason
ERROR_REASON_MESSAGE_TOO_LARGE: ErrorReason
ERROR_REASON_OUTCOME_UNKNOWN: ErrorReason
ERROR_REASON_DATABASE_UNAVAILABLE: ErrorReason
ERROR_REASON_SHUTTING_DOWN: ErrorReason
ERROR_REASON_KEYS_UNAVAILABLE: ErrorReason
ERROR_REASON_SESSION_SILENT: ErrorReason
ERROR_REASON_CREDENTIALS_MISSING: ErrorReason
ERROR_REASON_CREDENTIALS_WRONG: ErrorReason
ERROR_REASON_CREDENTIALS_EXPIRED: ErrorReason
ERROR_REASON_RIGHT_MISSING: ErrorReason
ERROR_REASON_TIMEOUT: ErrorReason
ERROR_REASON_CANCELLED: ErrorReason
ERROR_REASON_INTERNAL: ErrorReason

"""Columns whose names say that their values are secret: passwords, tokens, numbers of cards,
accounts and people, in English and Chinese.

A name says so where the word stands at its end, with nothing behind it but what the value is
(``password_hash``, ``card_number``): ``password_changed_at`` and ``token_count`` hold no secret.
"""

from __future__ import annotations

import re
from functools import lru_cache

_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_a-zA-Z]+")
_VALUE = r"(?: (?:hash|hashed|salt|digest|encrypted|enc|plain|plaintext|text|value|string|\d+))*"
_NUMBER = r"(?: (?:number|num|no|nr|nbr|code))?"
_NEVER_A_KEY = re.compile(
    r"(?:.* )?(?:password|passwd|passwort|pass ?word|pwd|passcode|passphrase"
    r"|(?:api|access|auth|refresh|bearer|session|csrf|id|oauth|secret|security|reset|push|device|user) token|token"
    r"|(?:client|api|app|shared|consumer|webhook|totp|otp|user) secret|secret"
    r"|(?:api|secret|private|access|encryption|signing) ?key|apikey|cvv2?|cvc2?)"
    + _VALUE
    + r"|pass|pw"
)
_NUMBERED = re.compile(
    r"(?:.* )?(?:ssn|social security|iban|(?:credit|debit|bank|payment) ?card|creditcard)"
    + _NUMBER
    + _VALUE
    + r"|(?:.* )?(?:cc|card|cardholder) ?(?:number|num|no|nr|nbr|pan)"
    + _VALUE
    + r"|card|\w?ssn|cardno|cardnumber|ccnum|cc"
)
_CHINESE_SECRET = re.compile(
    r".*(?:密码|口令|密钥|私钥|令牌|安全码|验证码|凭证密文)(?:哈希|散列|密文|明文|值|盐)?"
)
_CHINESE_NUMBER = re.compile(
    r".*(?:身份证|社保|社会保障|社会保险|银行卡|信用卡|储蓄卡|借记卡|银行账|银行帐)(?:卡)?(?:号|号码|编号|账号)?|卡号|银行账户|银行卡号码"
)


@lru_cache(maxsize=1 << 16)
def secrecy(name: str) -> str:
    """What a column's name says of its values.

    Returns:
        ``always`` for a secret that nothing is joined by, ``number`` for a number that may
        also be a key, empty for all else.

    >>> secrecy("userPassword"), secrecy("password_changed_at"), secrecy("SSN"), secrecy("密码")
    ('always', '', 'number', 'always')
    """
    words = " ".join(_WORDS.findall(name)).casefold()
    joined = name.strip().replace(" ", "").replace("_", "")
    if _NEVER_A_KEY.fullmatch(words) or _CHINESE_SECRET.fullmatch(joined):
        return "always"
    if _NUMBERED.fullmatch(words) or _CHINESE_NUMBER.fullmatch(joined):
        return "number"
    return ""

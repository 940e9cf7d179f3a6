"""What keys, tokens and passwords look like, and URLs that carry them."""

from __future__ import annotations

__all__ = ["SECRETS", "URLS"]

SECRETS: dict[str, str] = {
    "Anthropic or OpenAI key": r"\bsk-(?:ant-|proj-|svcacct-)?[A-Za-z0-9_-]{16,}",
    "AWS access key": r"\b(?:AKIA|ASIA|AGPA|AIDA|AROA)[0-9A-Z]{16}\b",
    "GitHub token": r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,})",
    "GitLab token": r"\bglpat-[A-Za-z0-9_-]{18,}",
    "Slack token": r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
    "Google key": r"\bAIza[0-9A-Za-z_-]{35}",
    "Google OAuth token": r"\bya29\.[0-9A-Za-z_-]{20,}",
    "Stripe key": r"\b(?:sk|pk|rk)_(?:live|test)_[0-9A-Za-z]{16,}",
    "Hugging Face token": r"\bhf_[A-Za-z0-9]{30,}",
    "npm token": r"\bnpm_[A-Za-z0-9]{36}\b",
    "PyPI token": r"\bpypi-[A-Za-z0-9_-]{50,}",
    "SendGrid key": r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    "Telegram token": r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}\b",
    "JSON web token": r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    "private key": (
        r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[\s\S]{0,8000}?"
        r"(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|\Z)"
    ),
    "authorization": r"(?i:(?<=\bbearer )|(?<=\bbasic ))[A-Za-z0-9._~+/=-]{16,}",
    "named secret": (
        r"(?i:\b(?:api[ _-]?key|access[ _-]?key|secret(?:[ _-]?key)?|client[ _-]?secret|"
        r"(?:access|auth|refresh|session|bearer|api)[ _-]?token|token|password|passwd|passwort|"
        r"contraseña|mot de passe|pwd|passphrase)\b)[\"']?\s{0,3}(?:[:=]|\bis\b|\bist\b)\s{0,3}"
        r"[\"']?(?P<secret>[^\s\"',;<>]{4,200})"
    ),
}
"""Name to pattern; where a pattern has a group `secret`, that alone is the secret."""

_NAMES = (
    "access_token|token|id_token|refresh_token|auth|auth_token|api_?key|apikey|key|secret|"
    "client_secret|password|passwd|pwd|pass|session|session_?id|sid|sig|signature|code|otp|"
    "x-amz-signature|x-amz-credential|x-amz-security-token|x-goog-signature|jwt|ticket|hash"
)
URLS: dict[str, str] = {
    "URL with a password": r"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/@:\"'<>]{1,100}:[^\s/@\"'<>]{1,200}@[^\s\"'<>]{1,2000}",
    "URL with a token": (
        r"(?i:\bhttps?://[^\s\"'<>?#]{1,1000}[?#](?:[^\s\"'<>]{0,2000}?[&;])??(?:"
        + _NAMES
        + r")=[^\s\"'<>]{1,2000})"
    ),
}
"""URLs that let whoever has them in; other URLs stay, since answers point to public pages."""

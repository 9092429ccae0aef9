package main

import "github.com/clawhost/clawhost/sdk/redact"

// removed replaces a secret.
const removed = "[removed]"

// redacted returns a text without what looks like a secret.
func redacted(text string) string { return redact.Text(text, removed) }

package config_test

import "testing"

func TestBadClaude(t *testing.T) {
	t.Parallel()
	refuse(t, []bad{
		{
			"MCP servers",
			`
claude {
  mcp "clawhost" {
    command = ["a"]
  }
  mcp "a__b" {
    command = ["a"]
  }
  mcp "both" {
    command = ["a"]
    url     = "https://example.com"
  }
  mcp "neither" {
  }
  mcp "odd" {
    command = []
    headers = { A = "b" }
  }
  mcp "web" {
    url     = "ftp://example.com"
    headers = { "A B" = "c", B = "d\ne", C = "$${HOME}" }
    env     = { A = "b" }
  }
  mcp "web" {
    url = "https://user@example.com"
  }
}
`,
			`
F:3:7: Unsuitable label; The name "clawhost" is that of the host's own MCP server.
    mcp "clawhost" {
F:6:7: Unsuitable label; The name of an MCP server has 1 to 32 of the characters a to z, A to Z, 0 to 9, and single - and _ between them.
    mcp "a__b" {
F:11:5: Unsuitable argument; The block claude.mcp takes only one of "command" or "url".
F:13:17: Missing argument; The block claude.mcp needs one of "command" or "url".
    mcp "neither" {
F:16:15: Unsuitable value; claude.mcp.command must be a program with its arguments, such as ["github-mcp-server", "stdio"].
F:17:5: Unsuitable argument; The block claude.mcp takes "headers" only with "url".
F:20:15: Unsuitable value; claude.mcp.url must be an http or https address without a user.
F:21:46: Unsuitable value; claude.mcp.headers must not contain "${", which Claude Code would replace: use env("NAME").
F:22:5: Unsuitable argument; The block claude.mcp takes "env" only with "command".
F:24:3: Duplicate block; There is a block mcp "web" at F:19:3 already.
    mcp "web" {
`,
		},
		{
			"headers of MCP servers",
			`
claude {
  mcp "web" {
    url     = "https://example.com"
    headers = { "A B" = "c", B = "d\ne", C = "1", c = "2" }
  }
}
`,
			`
F:5:25: Unsuitable value; claude.mcp.headers contains a name that is not valid for an HTTP header.
F:5:34: Unsuitable value; claude.mcp.headers must not contain control characters.
F:5:55: Unsuitable value; claude.mcp.headers contains c twice.
`,
		},
		{
			"effort and speed",
			`
claude {
  effort = "none"
  fast   = "on"
}
`,
			`
F:3:12: Unsuitable value; claude.effort must be "", "off", "low", "medium", "high", "xhigh" or "max".
    effort = "none"
F:4:12: Unsuitable value; claude.fast must be true or false.
    fast   = "on"
`,
		},
		{
			"claude's arguments and environment are the host's",
			`
claude {
  args = ["--verbose", "--model=x", "-p", "-dc", "--append-system-prompt-file", "--", "--debug", "--add-dir", "/x"]
  env  = { CLAUDE_CODE_DISABLE_ATTACHMENTS = "0", OK = "1" }
}
`,
			`
F:3:11: Unsuitable value; claude.args must not contain --verbose, because the host sets it.
F:3:24: Unsuitable value; claude.args must not contain --model, because the host sets it.
F:3:37: Unsuitable value; claude.args must not contain -p, because the host sets it.
F:3:43: Unsuitable value; claude.args must not contain -c, because the host sets it.
F:3:50: Unsuitable value; claude.args must not contain --append-system-prompt-file, because the host sets it.
F:3:81: Unsuitable value; claude.args must not contain --, because the host sets it.
F:4:46: Unsuitable value; claude.env must not contain CLAUDE_CODE_DISABLE_ATTACHMENTS, because the host sets it.
`,
		},
		{
			"keys are not told",
			`
claude {
  api_keys = [
    "secret-1 x", "secret-2",
  ]
}
`,
			`
F:4:5: Unsuitable value; claude.api_keys must be keys of ASCII characters without spaces.
`,
		},
		{
			"keys that are none",
			`
claude {
  api_keys = ["secret-1", "", 5]
}
`,
			`
F:3:27: Unsuitable value; claude.api_keys must not be empty.
F:3:31: Unsuitable value; claude.api_keys must be text in quotes.
`,
		},
		{
			"one key is no list",
			`
claude {
  api_keys = "secret-1"
}
`,
			`
F:3:14: Unsuitable value; claude.api_keys must be a list, such as ["a", "b"].
`,
		},
		{
			"credentials beside the host's keys",
			`
claude {
  api_keys = ["secret-1"]
  env = {
    ANTHROPIC_API_KEY       = "secret-2"
    ANTHROPIC_AUTH_TOKEN    = ""
    ANTHROPIC_BASE_URL      = "https://user:secret-3@api.test"
    CLAUDE_CODE_OAUTH_TOKEN = "secret-4"
  }
}
`,
			`
F:5:31: Unsuitable value; claude.env must not contain ANTHROPIC_API_KEY together with claude.api_keys.
F:7:31: Unsuitable value; claude.env must contain an ANTHROPIC_BASE_URL that is an http or https address without a user.
F:8:31: Unsuitable value; claude.env must not contain CLAUDE_CODE_OAUTH_TOKEN together with claude.api_keys.
`,
		},
	})
}

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
F:20:15: Unsuitable value; claude.mcp.url must be an http or https address, without a user.
F:21:46: Unsuitable value; claude.mcp.headers must not hold "${", which Claude Code would replace: use env("NAME").
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
F:5:25: Unsuitable value; claude.mcp.headers holds a name that is none of an HTTP header.
F:5:34: Unsuitable value; claude.mcp.headers must hold no control characters.
F:5:55: Unsuitable value; claude.mcp.headers holds c twice.
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
F:3:11: Unsuitable value; claude.args cannot hold --verbose: the host sets it.
F:3:24: Unsuitable value; claude.args cannot hold --model: the host sets it.
F:3:37: Unsuitable value; claude.args cannot hold -p: the host sets it.
F:3:43: Unsuitable value; claude.args cannot hold -c: the host sets it.
F:3:50: Unsuitable value; claude.args cannot hold --append-system-prompt-file: the host sets it.
F:3:81: Unsuitable value; claude.args cannot hold --: the host sets it.
F:4:46: Unsuitable value; claude.env cannot hold CLAUDE_CODE_DISABLE_ATTACHMENTS: the host sets it.
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
F:4:5: Unsuitable value; claude.api_keys must be keys: characters of ASCII, and no white space.
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
F:5:31: Unsuitable value; claude.env cannot hold ANTHROPIC_API_KEY beside claude.api_keys.
F:7:31: Unsuitable value; claude.env must hold an ANTHROPIC_BASE_URL that is an http or https address, without a user.
F:8:31: Unsuitable value; claude.env cannot hold CLAUDE_CODE_OAUTH_TOKEN beside claude.api_keys.
`,
		},
	})
}

package config_test

import (
	"testing"
)

// One mistake is one problem, in words that do not need the reader to know HCL, and shows no secret.
func TestMistakes(t *testing.T) {
	t.Parallel()
	refuse(t, []bad{
		{
			"a missing quote, which changes the meaning of the rest", "agent {\n  name = \"Claw\n  workspace = \"~/x\"\n}\nlog {\n  levle = 'info'\n}\n", `
F:2:15: Missing quote; The text has no closing " in its line. A line break in a text is written \n.
    name = "Claw
`,
		},
		{
			"a missing quote of a secret", "plugin \"p\" {\n  config {\n    token = \"secret-1\n  }\n}\n", `
F:3:22: Missing quote; The text has no closing " in its line. A line break in a text is written \n.
`,
		},
		{
			"a long text without an end", "agent {\n  system_prompt = <<TEXT\nhello\n}\n", `
F:5:1: Text without an end; A text ends with ", and one that begins with <<NAME ends with the line NAME.
`,
		},
		{
			"other quotes", "agent {\n  name = 'Claw'\n  workspace = '~/a b'\n}\nlog {\n  level = “info”\n  format = `text`\n}\nplugin 'p' {}\n", `
F:2:10: Wrong quotes; Use double quotes, as in "text".
    name = 'Claw'
F:3:15: Wrong quotes; Use double quotes, as in "text".
    workspace = '~/a b'
F:6:11: Wrong quotes; Use double quotes, as in "text".
    level = “info”
F:7:12: Wrong quotes; Use double quotes, as in "text".
    format = ` + "`text`" + `
F:9:1: Missing quotes; Write the label in double quotes, as in group "-100123" { … }.
`,
		},
		{
			"other quotes of a secret", "plugin \"p\" {\n  config {\n    token = 'secret-1'\n  }\n}\n", `
F:3:13: Wrong quotes; Use double quotes, as in "text".
`,
		},
		{
			"a block without an end", "agent {\n  name = \"x\"\nlog {\n  level = \"info\"\n}\n", `
F:1:7: Unclosed block; The block agent has no closing brace }, or a block within it has none.
    agent {
`,
		},
		{
			"a block of a plugin without an end", "log {}\nplugin \"p\" {\n  config {\n    token = \"secret-1\"\n  }\n", `
F:2:12: Unclosed block; The block plugin "p" has no closing brace }, or a block within it has none.
    plugin "p" {
`,
		},
		{
			"the id of a group without quotes", "access {\n  group -100123 {}\n}\n", `
F:2:3: Missing quotes; Write the label in double quotes, as in group "-100123" { … }.
    group -100123 {}
`,
		},
		{
			"YAML", "agent:\n  name: x\n", `
F:1:1: Colon instead of =; Write name = value for an argument, and name { … } for a block.
    agent:
F:2:3: Colon instead of =; Write name = value for an argument, and name { … } for a block.
    name: x
`,
		},
		{
			"variables of a shell", `
agent {
  name          = "$NAME"
  system_prompt = "It costs $5, or $AMOUNT."
  workspace     = "${HOME}/x"
}
plugin "p" {
  env = { A = "$HTTP_PROXY", B = "$SECRET1" }
  config {
    token = "${BOT_TOKEN}"
    other = "secret-${1 + Secret-1}"
    list  = [{ a = "$BOT_TOKEN" }]
  }
}
`, `
F:3:19: Unsuitable value; Nothing replaces $ in a text. Write env("NAME") for the environment variable.
    name          = "$NAME"
F:5:22: Variables not allowed; Write ${env("HOME")} for the environment variable, and $${ for the characters ${.
    workspace     = "${HOME}/x"
F:8:15: Unsuitable value; Nothing replaces $ in a text. Write env("HTTP_PROXY") for the environment variable.
F:8:34: Unsuitable value; Nothing replaces $ in a text. Write env("NAME") for the environment variable.
F:10:16: Variables not allowed; Write ${env("BOT_TOKEN")} for the environment variable, and $${ for the characters ${.
F:11:27: Variables not allowed; Quote text, as in "steer"; for yes or no write true or false.
F:12:20: Unsuitable value; Nothing replaces $ in a text. Write env("BOT_TOKEN") for the environment variable.
`,
		},
		{
			"values of another type", "agent {\n  worktree = true\n}\nbudget {\n  per   = \"all\"\n  daily = 2\n}\nmedia {\n  max_bytes = 5\n}\n", `
F:2:14: Unsuitable value; agent.worktree must be "off" or "thread".
    worktree = true
F:6:11: Unsuitable value; budget.daily must be an amount of money or of tokens, such as "$5", "$0.50" or "2000000 tokens".
    daily = 2
F:9:15: Unsuitable value; media.max_bytes must be a size, such as "20MB" or "500KB".
    max_bytes = 5
`,
		},
		{
			"misspelt words", "queue {\n  mode = \"steeer\"\n}\nlog {\n  level = getenv(\"LEVEL\")\n}\nreply {\n  typing = \"loud\"\n}\n", `
F:2:10: Unsuitable value; queue.mode must be MODES. Did you mean "steer"?
    mode = "steeer"
F:5:11: Call to unknown function; There is no function "getenv". Did you mean "env"? The functions are env, file, jsonencode and trimspace.
    level = getenv("LEVEL")
F:8:12: Unsuitable value; reply.typing must be "never", "instant", "thinking" or "message".
    typing = "loud"
`,
		},
		{
			"a block that does not exist", "cron {}\n", `
F:1:1: Unknown block; The file has no block "cron".
    cron …
`,
		},
	})
}

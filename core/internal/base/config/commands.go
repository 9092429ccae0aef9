package config

// Commands configures slash commands.
type Commands struct {
	Bash bool // owners may run lines of the shell by /bash; default false
}

func (c *Commands) block() block {
	return block{path: "commands", attrs: []attr{
		{"bash", boolean(&c.Bash)},
	}}
}

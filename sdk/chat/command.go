package chat

// CommandSpec describes a slash command.
type CommandSpec struct {
	Name         string    // lower case, digits and underscores, without a slash; at most 32 bytes
	Usage        string    // such as "/roll 2d6"
	Summary      string    // one line for /help
	MinAuthority Authority // the minimum authority required; zero: that for commands in general
}

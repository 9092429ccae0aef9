package wording

import (
	"fmt"
	"strings"
)

// Command is a command as lists show it.
type Command struct {
	Name    string
	Usage   string // empty: the name
	Summary string
	Group   string
}

// line is a command in a list. A plugin's or skill's summary cannot break the line.
func (c Command) line() string {
	return fmt.Sprintf("\n- %s: %s", Code(or(c.Usage, "/"+c.Name)), OneLine(or(c.Summary, NoSummary), 200))
}

// NoSummary is shown for a command that has no summary.
const NoSummary = "no description"

// Help answers /help: the most used commands, the number of all, and whether they also work within a message.
func Help(list []Command, all int, directives bool) string {
	var b strings.Builder
	b.WriteString("Write to me as you would to a colleague. Commands:\n")
	for _, c := range list {
		b.WriteString(c.line())
	}
	fmt.Fprintf(&b, "\n\n`/commands` lists all %d.", all)
	if directives {
		b.WriteString(" Settings also work within a message, for that message: \"/think high why is the sky blue?\"")
	}
	return b.String()
}

// Commands answers /commands: a page of them.
func Commands(list []Command, page, pages int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**Commands** (%d/%d)", page, pages)
	group := ""
	for _, c := range list {
		if c.Group != group {
			group = c.Group
			fmt.Fprintf(&b, "\n\n%s\n", group)
		}
		b.WriteString(c.line())
	}
	if page < pages {
		fmt.Fprintf(&b, "\n\n`/commands %d` shows more.", page+1)
	}
	return b.String()
}

// NoSuchPage answers /commands with a page that does not exist.
func NoSuchPage(pages int) string {
	return fmt.Sprintf("There is no such page of commands. /commands has %s.", plural(pages, "page"))
}

// DidYouMean answers a mistyped command.
func DidYouMean(typed, meant string) string {
	return fmt.Sprintf("There is no /%s. Did you mean /%s?", typed, meant)
}

// CommandUnavailable answers a command whose plugin does not run.
func CommandUnavailable(name string) string {
	return fmt.Sprintf("/%s is not available at the moment: its plugin is not running. Try again in a minute.", name)
}

// CommandNotAllowed answers a command that a person may not use.
func CommandNotAllowed(name string) string {
	return fmt.Sprintf("You may not use /%s here. Ask the owner of this bot.", name)
}

// CommandOnlyInDirect answers a command whose answer is private.
func CommandOnlyInDirect(name string) string {
	return fmt.Sprintf("/%s answers in a direct chat only. Write it to me there.", name)
}

// CommandOnlyAlone answers a command that runs as a turn and stands within a message.
func CommandOnlyAlone(name string) string {
	return fmt.Sprintf("/%s works only as a message of its own. Send it again by itself.", name)
}

// CommandFailed answers a command that failed.
func CommandFailed(name string) string { return fmt.Sprintf("/%s failed. %s", name, seeLog) }

// seeLog says where to find a reason that is not for the chat.
const seeLog = "The host's log says why."

// UnknownArgument answers an argument that a command does not accept. It also answers such a directive within a text,
// which is not run.
func UnknownArgument(command, argument, options string) string {
	return fmt.Sprintf("/%s does not know %s. %s Nothing was done; send it again with one of them.", command,
		Code(OneLine(argument, 40)), options)
}

// The groups of commands.
const (
	GroupConversation = "Conversation"
	GroupSettings     = "Settings"
	GroupInformation  = "Information"
	GroupOwners       = "For owners"
	GroupPlugins      = "Plugins"
	GroupSkills       = "Skills"
)

// CommandSummary describes a command of the host, for lists and the networks' menus; empty: the host has no such
// command.
func CommandSummary(name string) string {
	switch name {
	case "new":
		return "begin a new conversation, and answer the text in it"
	case "reset":
		return "the same as /new"
	case "files":
		return "list the folder in which I work here, or one in it"
	case "get":
		return "send a file of that folder"
	case "cd":
		return "the folder in which I work here"
	case "sessions":
		return "list the conversations of Claude Code that I can continue here, or those with some words"
	case "resume":
		return "continue one of them here"
	case "handoff":
		return "continue this conversation in a terminal"
	case "fork":
		return "go on here in a copy of this conversation"
	case "worktree":
		return "list, merge, remove or restore the worktrees of threads"
	case "agent":
		return "which agent answers here, or ask another one once"
	case "stop":
		return "stop what is running and drop what waits, or keep it"
	case "compact":
		return "shorten the conversation, keeping what matters"
	case "btw":
		return "ask something beside what is running"
	case "jobs":
		return "the commands that the agent runs in the background"
	case "job":
		return "show a job, or stop it"
	case "subagents":
		return "the subagents that run, or stop one"
	case "next":
		return "answer a waiting message next; `/queue` shows its number"
	case "withdraw":
		return "withdraw a waiting message; `/queue` shows its number"
	case "diff":
		return "what the last turn changed in files, or in one file"
	case "undo":
		return "take back what the last turn did to files; it asks first"
	case "session":
		return "show this conversation, or name it; `/session label -` removes the name"
	case "export_session":
		return "write this conversation to a file on the host"
	case "think":
		return "how hard the model thinks"
	case "fast":
		return "whether the model answers faster, at a higher price"
	case "model":
		return "show or choose the model"
	case "models":
		return "list the models"
	case "verbose":
		return "show the tools in use"
	case "reasoning":
		return "show what the model thinks"
	case "queue":
		return "what waits, and what becomes of messages that come while I work"
	case "elevated":
		return "what tools may do without asking"
	case "exec":
		return "whether tools that need permission are refused, ask, or run"
	case "send":
		return "whether I answer in this conversation"
	case "tts":
		return "which answers I also speak"
	case "activation":
		return "when I answer in this group"
	case "help":
		return "what you can ask me"
	case "commands":
		return "list all commands"
	case "status":
		return "what runs, what waits, what it cost"
	case "usage":
		return "what was used, or a line about it below each answer"
	case "context":
		return "what fills the context"
	case "tools":
		return "the agent's tools and where they are from"
	case "whoami":
		return "your id and what you may do"
	case "answer":
		return "answer a question of Claude's"
	case "allowlist":
		return "who may write to me"
	case "approve":
		return "allow what Claude asks, or accept a pairing code"
	case "deny":
		return "refuse what Claude asks, or a pairing code"
	case "grants":
		return "what Claude may do here without asking"
	case "budget":
		return "what was spent of the budgets, or lift one for today"
	case "mcp":
		return "MCP servers of the workspace, and whether they may run"
	case "bash":
		return "run a command of the shell in the workspace"
	case "reload":
		return "apply the changed config file"
	case "restart":
		return "restart the host"
	case "config":
		return "where the config file is and what holds in this chat"
	case "debug":
		return "figures for finding a fault of the host"
	default:
		return ""
	}
}

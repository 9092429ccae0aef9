package wording

import "fmt"

// ServerAsks asks owners about an MCP server of the workspace's .mcp.json. The content is all that it is run with.
func ServerAsks(name, content, code string) string {
	return quoted(fmt.Sprintf("The workspace's .mcp.json has the MCP server %s, which does not run before an owner has allowed it", name), content) +
		fmt.Sprintf("\n\nRead it, and what it runs. /mcp allow %s lets it run, /mcp deny %s does not. If its content changes, you are asked again.", code, code)
}

// NoticesLeftOut tells owners that further notices of a kind are left out.
const NoticesLeftOut = "More notices like the last ones are left out for up to an hour, because there are too many. /mcp, /tools and `clawhost logs` show what is going on."

// ServerFails tells owners why the tools of an MCP server are missing.
func ServerFails(name, why string) string {
	return quoted(fmt.Sprintf("The MCP server %s does not start, so its tools are missing", name), OneLine(why, maxCode)) +
		"\n\nCheck its block in the config, or what it needs, and restart the host. Without a restart, each new conversation tries it again; /tools shows its state."
}

// Advice for a plugin that does not run.
const (
	AdviceCredentials = "Correct its credentials, then write /reload."
	AdviceConfig      = "Correct its config, then write /reload."
	AdviceBinary      = "Replace its binary, which the host tries within seconds, or correct its block, then write /reload."
	AdviceWait        = "The host starts it by itself once what it needs is there."
)

// AdviceSurroundings is advice where the config or something around the plugin may be wrong.
func AdviceSurroundings(plugin string) string {
	return "If its config is wrong, correct it, then write /reload. Remove anything else that is in its way, such as a program that uses its port. " + AdviceRetry(plugin)
}

// AdviceRetry says when the host tries a plugin again.
func AdviceRetry(plugin string) string {
	return fmt.Sprintf("The host tries again every few minutes, and at once after `clawhost plugin restart %s`.", plugin)
}

// SessionIntruded tells owners that another process wrote into a session.
func SessionIntruded(pid int, session string) string {
	return fmt.Sprintf("Another process on this machine (pid %d) wrote into the Claude session of %s. I ended Claude there at once, and nobody was shown what it wrote. "+
		"Claude may still remember it: /new begins a new conversation.", pid, session)
}

// SessionOpened tells owners that another process opened a session while a turn ran in it.
func SessionOpened(pid int, session string) string {
	return fmt.Sprintf("The conversation %s was opened in a terminal, or by another program (pid %d), while I answered in it. It does not know this answer there. "+
		"I answer nothing more in it until it is closed there.", Code(session), pid)
}

// SendingOff tells the model, which may tell people, that nothing is sent to a chat.
const SendingOff = "Nothing is sent to this chat: the operator, or an owner, has switched that off."

// DemoAnswers tells the operator that a stand-in answers.
const DemoAnswers = "Demo: a stand-in answers, not Claude."

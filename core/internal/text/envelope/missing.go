package envelope

import (
	"strings"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Missing handles a message that consists only of files that are all unavailable for known reasons. It returns a reply to
// the sender with the problem of each file, and an event for the agent's next turn without the names, which are untrusted;
// false: the message has content.
func Missing(text string, files []chat.Media) (reply, event string, missing bool) {
	var named, unnamed []string
	for _, file := range files {
		if file.Ref != "" || file.Problem == "" {
			return "", "", false
		}
		named = append(named, nameOf(file)+" "+file.Problem)
		unnamed = append(unnamed, "the "+file.Kind.String()+" "+file.Problem)
	}
	if text != "" || len(files) == 0 {
		return "", "", false
	}
	return "I could not take what you sent: " + strings.Join(named, "; ") + ".",
		"A file was sent here that could not be had: " + strings.Join(unnamed, "; ") + ".", true
}

func nameOf(m chat.Media) string {
	if m.FileName == "" {
		return "the " + m.Kind.String()
	}
	return "`" + strings.ReplaceAll(strings.Join(strings.Fields(m.FileName), " "), "`", "'") + "`"
}

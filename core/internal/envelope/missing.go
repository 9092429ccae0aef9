package envelope

import (
	"strings"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Missing tells of a message that is nothing but files none of which can be had, for reasons that are known: whoever sent it what
// is wrong with each, and the agent, by its next turn, the same without the names, which are anybody's words. False: there is
// something in the message.
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

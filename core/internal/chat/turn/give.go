package turn

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"

	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/hook"
)

// give returns the texts that hooks add to a run's prompt, and notes in the run which of them its conversation then has. It
// leaves out texts that a conversation should contain once and already has.
//
// If Claude already has the prompt of an earlier attempt, that prompt may differ from this one: nothing is noted then, and
// the next turn gives all texts again.
func give(run *conversation.Run, added []hook.Added) (texts []string) {
	has := map[string]string{}
	maps.Copy(has, run.Session.Given)
	for _, a := range added {
		if a.Conversation != "" {
			if mark := markOf(a.Conversation); has[a.Name] != mark {
				texts = append(texts, a.Conversation)
				has[a.Name] = mark
			}
		}
		if a.Prepend != "" {
			texts = append(texts, a.Prepend)
		}
	}
	run.Given = nil
	if run.Head.ConsumedAt.IsZero() && !maps.Equal(has, run.Session.Given) {
		run.Given = has
	}
	return texts
}

// markOf returns the mark by which a text is known again.
func markOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

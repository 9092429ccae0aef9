package inbox

import (
	"context"
	"fmt"
	"strings"

	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// maxMissing is how many files that could not be had a session's next turn is told of.
const maxMissing = 20

// unusable tells whether a message is nothing but files none of which could be had, for reasons that are known.
func unusable(m store.Message) bool {
	for _, file := range m.Media {
		if file.Ref != "" || file.Problem == "" {
			return false
		}
	}
	return m.Text == "" && len(m.Media) > 0
}

// miss tells whoever sent nothing but such files why. There is nothing in them to be answered: Claude hears of it with what is
// written next, but for the names, which are anybody's words.
func (in *Inbox) miss(ctx context.Context, a *arrival) (Outcome, error) {
	m := a.message
	var named, unnamed []string
	for _, file := range m.Media {
		named = append(named, nameOf(file)+" "+file.Problem)
		unnamed = append(unnamed, "the "+file.Kind.String()+" "+file.Problem)
	}
	outcome, err := in.keep(ctx, a, store.Overheard{
		Note:  &store.Note{Kind: store.NoteEvent, At: in.options.Now(), Text: "A file was sent here that could not be had: " + strings.Join(unnamed, "; ") + "."},
		Limit: maxMissing,
	})
	if err != nil {
		return Outcome{}, err
	}
	_, err = in.options.Store.Post(ctx, "missing:"+m.Channel+":"+string(a.event.ID), store.Piece{
		To: m.Address(), ReplyTo: m.ID, Text: "I could not take what you sent: " + strings.Join(named, "; ") + ".",
	})
	if err != nil {
		return Outcome{}, fmt.Errorf("tell of a file that could not be had: %w", err)
	}
	return outcome, nil
}

func nameOf(m chat.Media) string {
	if m.FileName == "" {
		return "the " + m.Kind.String()
	}
	return "`" + strings.ReplaceAll(strings.Join(strings.Fields(m.FileName), " "), "`", "'") + "`"
}

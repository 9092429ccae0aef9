package fetch_test

import (
	"context"
	"fmt"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/fetch"
)

// A channel whose messages have files, and answer others that have some.
func Example() {
	rule := fetch.NewRule(fetch.Limits{Together: 50 << 20, Refused: 20 << 20}) // made by Run
	submit := func(context.Context, chat.Event) chat.Verdict { return chat.Accepted }
	download := func(_ context.Context, file chat.Media) chat.Media {
		file.Ref = "of Env.Media.Upload" // or a Problem, by sdk.FileProblem
		return file
	}
	take := func(ctx context.Context, event chat.Event, message chat.Message) {
		fetchInto := func(files []chat.Media) {
			for i, file := range files {
				if files[i].Problem = rule.Room(event.Chat.ID, fetch.Stored(message)).Problem(file.Size); files[i].Problem == "" {
					files[i] = download(ctx, file)
				}
			}
		}
		fetchInto(message.Media)
		if quote := message.ReplyTo; quote != nil {
			problem := fetch.Quoted(event.Chat.Kind, message)
			for i := range quote.Media {
				quote.Media[i].Problem = problem
			}
			if problem == "" {
				fetchInto(quote.Media)
			}
		}
		event.Body = message
		rule.Note(hclog.NewNullLogger(), event, submit(ctx, event))
	}

	group := chat.Event{ID: "1", Chat: chat.Chat{ID: "family", Kind: chat.Group}}
	photo := chat.Quote{SenderName: "Anna", Media: []chat.Media{{Kind: chat.Image, Size: 1 << 20}}}
	take(context.Background(), group, chat.Message{Text: "nice", ReplyTo: &photo})
	fmt.Println("nice: it", photo.Media[0].Problem)
	take(context.Background(), group, chat.Message{Text: "@bot what is this?", ReplyTo: &photo, MentionsSelf: true})
	fmt.Println("what is this? it is", photo.Media[0].Ref)
	// Output:
	// nice: it is fetched only for a message that mentions you
	// what is this? it is of Env.Media.Upload
}

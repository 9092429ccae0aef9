package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/plugins/discord/discordtest"
	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
	"github.com/clawhost/clawhost/plugins/whatsapp/whatsapptest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// network is the network of a channel, on this machine.
type network struct {
	block  string // of the plugin's config
	person func(number int) person
	// group is a person in a group, whose messages mention the agent; nil: there are none.
	group func(number int) person
	// login pairs the account in an earlier process of the plugin; nil: the config block is enough.
	login func(context.Context, *plugins.Plugin) error
	// shown waits until the answer to a message is visible; nil: it is visible once sent.
	shown func(number int) error
	stop  func()
}

// person is somebody with a chat of their own.
type person struct {
	chat chat.ID
	// say writes a message into the chat and returns when it started.
	say func(text string) (time.Time, error)
	// sees waits until the agent's latest message in the chat, or what is shown of one, has a text, and returns when; nil: the
	// stand-in does not tell.
	sees func(ctx context.Context, text string) (time.Time, error)
	// types begins to write, of which the network tells plugins that want to know; nil: it does not.
	types func() error
}

// networks returns the networks by the names of their plugins.
var networks = []struct {
	name string
	most int // of the idle plugin's memory, in megabytes
	open func() (*network, error)
}{
	{"telegram", 25, openTelegram},
	{"whatsapp", 40, openWhatsApp},
	{"discord", 25, openDiscord},
	{"webchat", 25, openWebchat},
	{"echo", 25, openEcho},
}

func openTelegram() (*network, error) {
	server, err := telegramtest.Start(telegramtest.Options{})
	if err != nil {
		return nil, err
	}
	return &network{
		block: telegramBlock(server), stop: server.Close,
		person: func(number int) person {
			user := server.User(int64(1000 + number))
			return telegramPerson(server, user, user.ID, "")
		},
		group: func(number int) person {
			id := int64(-1000 - number)
			server.Group(id, "Bench")
			return telegramPerson(server, server.User(1001), id, "@"+server.Bot().Username+" ")
		},
	}, nil
}

// telegramPerson is a user in a chat, whose messages begin with a mention, if that is not empty.
func telegramPerson(server *telegramtest.Server, user *telegramtest.User, in int64, mention string) person {
	has := func(text string) func([]telegramtest.Message) bool {
		return func(all []telegramtest.Message) bool {
			last := all[len(all)-1]
			return last.From != user.ID && strings.Contains(last.Text, text)
		}
	}
	return person{
		chat: chat.ID(strconv.FormatInt(in, 10)),
		say: func(text string) (time.Time, error) {
			at := time.Now()
			user.Send(in, mention+text)
			return at, nil
		},
		sees: func(ctx context.Context, text string) (time.Time, error) {
			if in != user.ID {
				_, err := server.AwaitMessages(ctx, in, has(text))
				return time.Now(), err
			}
			return first(ctx, func(ctx context.Context) error {
				_, err := server.AwaitDraft(ctx, in, func(d telegramtest.Draft) bool { return strings.Contains(d.Text, text) })
				return err
			}, func(ctx context.Context) error {
				_, err := server.AwaitMessages(ctx, in, has(text))
				return err
			})
		},
	}
}

// first runs functions until the first of them succeeds, and returns when it did.
func first(ctx context.Context, functions ...func(context.Context) error) (at time.Time, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	times, errs := make([]time.Time, len(functions)), make([]error, len(functions))
	var running sync.WaitGroup
	for i, f := range functions {
		running.Go(func() {
			if errs[i] = f(ctx); errs[i] == nil {
				times[i] = time.Now()
				cancel()
			}
		})
	}
	running.Wait()
	for _, t := range times {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	if at.IsZero() {
		err = errors.Join(errs...)
	}
	return at, err
}

func openDiscord() (*network, error) {
	server := discordtest.Start()
	return &network{
		block: fmt.Sprintf("token = %q\n    test_endpoint = %q", server.Token(), server.URL()),
		stop:  server.Stop,
		person: func(number int) person {
			user, direct := fmt.Sprintf("2%017d", number), fmt.Sprintf("3%017d", number)
			server.User(user, fmt.Sprint("anna", number))
			server.Direct(user, direct)
			return person{
				chat: chat.ID(direct),
				say: func(text string) (time.Time, error) {
					<-server.First()
					at := time.Now()
					server.Say(direct, user, text)
					return at, nil
				},
				types: func() error { server.Type(direct, user); return nil },
				sees: func(ctx context.Context, text string) (time.Time, error) {
					_, err := server.AwaitMessages(ctx, direct, func(all []discordtest.Message) bool {
						last := all[len(all)-1]
						return last.Author == discordtest.BotID && strings.Contains(last.Text, text)
					})
					return time.Now(), err
				},
			}
		},
	}, nil
}

func openWhatsApp() (*network, error) {
	server := whatsapptest.Start()
	return &network{
		// WhatsApp tells only accounts that are online who types.
		block: fmt.Sprintf("show_online = true\n    test_endpoint = %q\n    test_noise_root = %q", server.URL(), server.Root()),
		stop:  server.Stop,
		person: func(number int) person {
			one := server.Person(number)
			return person{
				chat: chat.ID(one.LID.String()),
				say: func(text string) (time.Time, error) {
					return server.SentAt(one.Say(text)), nil // The encryption on their phone is not the plugin's.
				},
				types: func() error {
					if !one.Type(one.LID, true) {
						return errors.New("the account is not online, so the plugin does not learn that somebody types")
					}
					return nil
				},
				sees: func(ctx context.Context, text string) (time.Time, error) {
					_, err := server.AwaitMessages(ctx, one.LID, func(all []whatsapptest.Message) bool {
						last := all[len(all)-1]
						return last.Author.IsEmpty() && strings.Contains(last.Text, text)
					})
					return time.Now(), err
				},
			}
		},
		login: func(ctx context.Context, live *plugins.Plugin) error {
			var scanned error
			_, err := live.Login(ctx, nil, func(step chat.LoginStep) { scanned = server.Scan(ctx, step.QR) })
			if err := errors.Join(err, scanned); err != nil {
				return err
			}
			server.Person(1).Say("hello") // It is acknowledged once the device has made and uploaded its keys.
			if err := server.AwaitAcknowledged(ctx); err != nil {
				return err
			}
			return server.ShareName(ctx, "Bench") // An account is online once its name is known.
		},
	}, nil
}

// webchatToken is the token of the web chat's pages.
const webchatToken = "bench-0123456789abcdef0123456789abcdef0123456789"

func openWebchat() (*network, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	var p *page
	opened := func() (err error) {
		if p == nil { // The plugin is listening by now.
			p, err = openPage("http://"+address, webchatToken)
		}
		return err
	}
	return &network{
		block: fmt.Sprintf("listen = %q\n    token = %q", address, webchatToken),
		person: func(number int) person {
			return person{
				chat: "local",
				say: func(text string) (time.Time, error) {
					if err := opened(); err != nil {
						return time.Time{}, err
					}
					return p.say(number, text)
				},
				types: func() error {
					if err := opened(); err != nil {
						return err
					}
					p.types(number)
					return nil
				},
				sees: func(_ context.Context, text string) (time.Time, error) {
					answer, _ := numberIn([]byte(text))
					err := p.await(answer)
					return time.Now(), err
				},
			}
		},
		shown: func(number int) error { return p.await(number) },
		stop: func() {
			if p != nil {
				p.close()
			}
		},
	}, nil
}

func openEcho() (*network, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	n := &network{block: fmt.Sprintf("listen = %q", address)}
	var c *client
	say := func(text string) (time.Time, error) {
		if c == nil { // The plugin is listening by now.
			if c, err = dial(address, "anna"); err != nil {
				return time.Time{}, err
			}
			go func() { // ends with the connection
				for range c.events {
				}
			}()
		}
		number, _ := numberIn([]byte(text))
		return c.say(number, text)
	}
	n.person = func(int) person { return person{chat: "anna", say: say} }
	n.stop = func() {
		if c != nil {
			c.leave()
		}
	}
	return n, nil
}

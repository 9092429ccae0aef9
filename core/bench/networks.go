package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/plugins/discord/discordtest"
	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
	"github.com/clawhost/clawhost/plugins/whatsapp/whatsapptest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// network is the network of a channel, on this machine, with one chat.
type network struct {
	block string // of the plugin's config
	chat  chat.ID
	// say writes a message into the chat and returns when it started.
	say func(text string) (time.Time, error)
	// login pairs the account in an earlier process of the plugin; nil: the config block is enough.
	login func(context.Context, *plugins.Plugin) error
	// shown waits until the answer to a message is visible; nil: it is visible once sent.
	shown func(number int) error
	stop  func()
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
	user := server.User(1001)
	return &network{
		block: telegramBlock(server), chat: "1001", stop: server.Close,
		say: func(text string) (time.Time, error) {
			at := time.Now()
			user.Send(user.ID, text)
			return at, nil
		},
	}, nil
}

func openDiscord() (*network, error) {
	server := discordtest.Start()
	server.User("200000000000000001", "anna")
	server.Direct("200000000000000001", "300000000000000001")
	return &network{
		block: fmt.Sprintf("token = %q\n    test_endpoint = %q", server.Token(), server.URL()), chat: "300000000000000001",
		stop: server.Stop,
		say: func(text string) (time.Time, error) {
			<-server.First()
			at := time.Now()
			server.Say("300000000000000001", "200000000000000001", text)
			return at, nil
		},
	}, nil
}

func openWhatsApp() (*network, error) {
	server := whatsapptest.Start()
	anna := server.Person(1)
	return &network{
		block: fmt.Sprintf("test_endpoint = %q\n    test_noise_root = %q", server.URL(), server.Root()),
		chat:  chat.ID(anna.LID.String()), stop: server.Stop,
		say: func(text string) (time.Time, error) {
			return server.SentAt(anna.Say(text)), nil // The encryption on her phone is not the plugin's.
		},
		login: func(ctx context.Context, live *plugins.Plugin) error {
			var scanned error
			_, err := live.Login(ctx, nil, func(step chat.LoginStep) { scanned = server.Scan(ctx, step.QR) })
			if err := errors.Join(err, scanned); err != nil {
				return err
			}
			anna.Say("hello") // It is acknowledged once the device has made and uploaded its keys.
			return server.AwaitAcknowledged(ctx)
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
	return &network{
		block: fmt.Sprintf("listen = %q\n    token = %q", address, webchatToken), chat: "local",
		say: func(text string) (time.Time, error) {
			if p == nil { // The plugin is listening by now.
				if p, err = openPage("http://"+address, webchatToken); err != nil {
					return time.Time{}, err
				}
			}
			return p.say(text)
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
	n := &network{block: fmt.Sprintf("listen = %q", address), chat: "anna"}
	var c *client
	n.say = func(text string) (time.Time, error) {
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
	n.stop = func() {
		if c != nil {
			c.leave()
		}
	}
	return n, nil
}

package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/clawhost/clawhost/sdk"
)

// config is the plugin's block in the host's config file.
type config struct {
	ReadReceipts  bool       `json:"read_receipts"   default:"false" jsonschema:"show people that their messages were read, once the host has taken them"`
	ShowOnline    bool       `json:"show_online"     default:"false" jsonschema:"be online all the time, not only while typing; the phone of the account does not ring then"`
	SelfChat      bool       `json:"self_chat"       default:"false" jsonschema:"take what the account's owner writes in the chat with themselves"`
	Prefix        string     `json:"prefix"          default:""      jsonschema:"take only messages that begin with this word, such as claw; in groups they count as mentions"`
	Proxy         sdk.Secret `json:"proxy,omitempty"                 jsonschema:"a proxy for all connections, such as socks5://127.0.0.1:1080; else HTTPS_PROXY of the plugin's env is used"`
	TestEndpoint  string     `json:"test_endpoint"   default:""      jsonschema:"for tests: a server on a loopback address instead of WhatsApp's"`
	TestNoiseRoot string     `json:"test_noise_root" default:""      jsonschema:"for tests: the root key of that server's certificates, in hex"`
}

// maxPrefix is the maximum length of the prefix, in bytes.
const maxPrefix = 64

// Check validates what the schema cannot.
func (c config) Check() error {
	errs := []error{sdk.ConfigError("prefix", checkPrefix(c.Prefix)), sdk.ConfigError("proxy", checkProxy(c.Proxy.Reveal()))}
	switch {
	case c.TestEndpoint != "":
		errs = append(errs, sdk.ConfigError("test_endpoint", checkEndpoint(c.TestEndpoint)),
			sdk.ConfigError("test_noise_root", checkRoot(c.TestNoiseRoot)))
	case c.TestNoiseRoot != "":
		errs = append(errs, sdk.ConfigError("test_noise_root",
			errors.New("WhatsApp's own servers have another root; use this with test_endpoint only")))
	}
	return errors.Join(errs...)
}

func checkPrefix(prefix string) error {
	switch {
	case prefix != strings.TrimSpace(prefix):
		return errors.New("there is white space around the prefix; the space between it and the message is ignored anyway")
	case len(prefix) > maxPrefix:
		return fmt.Errorf("the prefix is longer than %d bytes", maxPrefix)
	default:
		return nil
	}
}

// checkProxy validates the proxy. Errors never quote its address, which may contain a password.
func checkProxy(proxy string) error {
	if proxy == "" {
		return nil
	}
	u, err := url.Parse(proxy)
	if err != nil || u.Host == "" {
		return errors.New("this is not a proxy's address, such as http://127.0.0.1:3128 or socks5://127.0.0.1:1080")
	}
	switch u.Scheme {
	case "http", "https", "socks5", "socks5h":
		return nil
	default:
		return fmt.Errorf("the proxy's scheme %q is not supported; use http, https or socks5", u.Scheme)
	}
}

// checkEndpoint accepts loopback addresses only, and no names, which may resolve elsewhere.
func checkEndpoint(endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" || u.User != nil || (u.Path != "" && u.Path != "/") || u.RawQuery != "" {
		return errors.New("this is not a test server's address, such as http://127.0.0.1:4711")
	}
	if addr, err := netip.ParseAddr(u.Hostname()); err != nil || !addr.IsLoopback() {
		return errors.New("a test server must have a loopback address, such as 127.0.0.1")
	}
	return nil
}

func checkRoot(root string) error {
	if raw, err := hex.DecodeString(root); err != nil || len(raw) != 32 {
		return errors.New("this is not a key of 32 bytes in hex")
	}
	return nil
}

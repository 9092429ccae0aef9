package web_test

import (
	"net/netip"
	"testing"

	"github.com/clawhost/clawhost/core/internal/media/web"
)

// Behaviour: links.
func TestPublicAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"93.184.216.34":        true,
		"1.1.1.1":              true,
		"2606:4700::1111":      true,
		"2a00:1450:4001::200e": true,

		"0.0.0.0":              false,
		"0.1.2.3":              false,
		"10.1.2.3":             false,
		"100.64.0.1":           false,
		"127.0.0.1":            false,
		"127.8.8.8":            false,
		"169.254.169.254":      false,
		"172.16.0.1":           false,
		"172.31.255.255":       false,
		"192.0.0.1":            false,
		"192.0.2.1":            false,
		"192.88.99.1":          false,
		"192.168.0.1":          false,
		"198.18.0.1":           false,
		"198.51.100.1":         false,
		"203.0.113.1":          false,
		"224.0.0.1":            false,
		"240.0.0.1":            false,
		"255.255.255.255":      false,
		"::":                   false,
		"::1":                  false,
		"::ffff:127.0.0.1":     false,
		"::ffff:10.0.0.1":      false,
		"::ffff:93.184.216.34": true,
		"::7f00:1":             false,
		"64:ff9b::7f00:1":      false,
		"64:ff9b:1::1":         false,
		"100::1":               false,
		"2001::1":              false,
		"2001:db8::1":          false,
		"2002:7f00:1::":        false,
		"3fff::1":              false,
		"4000::1":              false,
		"fc00::1":              false,
		"fd00:ec2::254":        false,
		"fe80::1":              false,
		"fec0::1":              false,
		"ff02::1":              false,
		"2606:4700::1111%eth0": false,
	} {
		if got := web.Public(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: public %t, want %t", address, got, want)
		}
	}
	if web.Public(netip.Addr{}) {
		t.Error("no address is public")
	}
}

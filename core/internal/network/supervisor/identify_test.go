package supervisor

import (
	"testing"

	"github.com/clawhost/clawhost/sdk/handshake"
)

// Once the plugin has written where it serves, the host connects: whom it accepts must not change then.
func TestIdentifyTooLate(t *testing.T) {
	t.Parallel()
	own, err := handshake.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	other, err := handshake.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{identity: own}
	d := lineServices{child: c}
	if err := d.Identify([]byte("no certificate")); err == nil {
		t.Error("anything is a certificate")
	}
	certificate := other.Certificates[0].Certificate[0]
	if err := d.Identify(certificate); err != nil {
		t.Error(err)
	}
	before := own.RootCAs
	if _, err := (*saying)(c).Write([]byte("1|1|unix|/socket|grpc|")); err != nil {
		t.Fatal(err)
	}
	if err := d.Identify(certificate); err == nil || own.RootCAs != before {
		t.Errorf("after the handshake: %v, changed %v", err, own.RootCAs != before)
	}
}

package supervisor_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"os"
	"regexp"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/sdk/pluginv1"
)

// TestAPluginAnswersItsHostAlone: who finds its socket and has not the certificate that was made for this one connection gets
// nothing.
func TestAPluginAnswersItsHostAlone(t *testing.T) {
	t.Parallel()
	r := begin(t, spec(t, "well"))
	found := regexp.MustCompile(`plugin address: .*address=(\S+)`).FindStringSubmatch(r.log.String())
	if found == nil {
		t.Fatalf("the log names no socket:\n%s", r.log)
	}
	socket := found[1]
	if info, err := os.Stat(socket); err != nil || info.Mode()&os.ModeSocket == 0 {
		t.Fatalf("%s is no socket: %v", socket, err)
	}
	for name, of := range map[string]credentials.TransportCredentials{
		"no certificate": insecure.NewCredentials(),
		"TLS alone":      credentials.NewTLS(&tls.Config{InsecureSkipVerify: true}),
		"its own certificate": credentials.NewTLS(&tls.Config{
			InsecureSkipVerify: true, Certificates: []tls.Certificate{selfSigned(t)},
		}),
	} {
		conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(of))
		if err != nil {
			t.Fatal(err)
		}
		_, err = pluginv1.NewPluginClient(conn).Describe(t.Context(), &pluginv1.DescribeRequest{})
		if status.Code(err) != codes.Unavailable {
			t.Errorf("%s: %v", name, err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
	live, _ := r.Get("well")
	if word, err := send(t, live, "hello"); err != nil || word != "hi" {
		t.Errorf("its host is answered %q, %v", word, err)
	}
}

// selfSigned is a certificate that looks like the host's.
func selfSigned(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}

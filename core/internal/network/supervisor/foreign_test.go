package supervisor_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/sdk/pluginv1"
)

// foreign is a plugin as one in another language is: without go-plugin, and without the broker by which it would reach the
// host.
type foreign struct {
	pluginv1.UnimplementedPluginServer
	pluginv1.UnimplementedCommandsServer
}

func serveForeign() {
	certificate, err := ownCertificate()
	if err != nil {
		panic(err)
	}
	hosts := x509.NewCertPool()
	if !hosts.AppendCertsFromPEM([]byte(os.Getenv("PLUGIN_CLIENT_CERT"))) {
		panic("the host shows no certificate")
	}
	socket := filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "foreign")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		panic(err)
	}
	fmt.Printf("1|1|unix|%s|grpc|%s\n", socket, base64.RawStdEncoding.EncodeToString(certificate.Certificate[0]))
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{certificate}, ClientCAs: hosts, ClientAuth: tls.RequireAndVerifyClientCert,
	})))
	pluginv1.RegisterPluginServer(server, foreign{})
	pluginv1.RegisterCommandsServer(server, foreign{})
	panic(server.Serve(listener))
}

// ownCertificate makes a certificate of its own authority, as both sides of a connection have.
func ownCertificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, err
}

func (foreign) Describe(context.Context, *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	return &pluginv1.DescribeResponse{
		Name: "foreign", Version: "1", Capabilities: []pluginv1.Capability{pluginv1.Capability_CAPABILITY_COMMANDS, pluginv1.Capability_CAPABILITY_TOOLS},
	}, nil
}

func (foreign) Configure(context.Context, *pluginv1.ConfigureRequest) (*pluginv1.ConfigureResponse, error) {
	return &pluginv1.ConfigureResponse{}, nil
}

func (foreign) CheckHealth(context.Context, *pluginv1.CheckHealthRequest) (*pluginv1.CheckHealthResponse, error) {
	return &pluginv1.CheckHealthResponse{Healthy: true}, nil
}

func (foreign) Shutdown(context.Context, *pluginv1.ShutdownRequest) (*pluginv1.ShutdownResponse, error) {
	return &pluginv1.ShutdownResponse{}, nil
}

func (foreign) RunCommand(_ context.Context, r *pluginv1.RunCommandRequest) (*pluginv1.RunCommandResponse, error) {
	return &pluginv1.RunCommandResponse{Reply: "you said " + r.GetArgs()}, nil
}

// A plugin without a broker works as far as it needs nothing of the host, and no library writes to the log past it.
func TestAPluginWithoutABroker(t *testing.T) {
	t.Parallel()
	r := begin(t, configured(t, "foreign", ""))
	live, running := r.Get("foreign")
	if !running {
		t.Fatalf("not running: %+v", r.List())
	}
	if kinds := strings.Join(plugins.Kinds(live.Description), " "); kinds != "commands tools" {
		t.Errorf("kinds are %q", kinds)
	}
	if reply, _, err := live.RunCommand(t.Context(), remote.CommandCall{Name: "say", Args: "it"}); err != nil || reply != "you said it" {
		t.Errorf("it answers %q, %v", reply, err)
	}
	r.stop()
	line := regexp.MustCompile(`^[0-9T:.-]+Z \[(DEBUG|INFO)\] +foreign: `)
	for said := range strings.Lines(r.log.String()) {
		if !line.MatchString(said) {
			t.Errorf("the log says %q", said)
		}
	}
}

package handshake

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"time"
)

// HostCertificate is the environment variable in which go-plugin gives a plugin the only certificate that it accepts, in PEM.
const HostCertificate = "PLUGIN_CLIENT_CERT"

// NewIdentity returns the TLS configuration of one side of one connection, with a key and a self-signed certificate of its
// own. It accepts no peer yet: see [Trust]. It does what AutoMTLS of go-plugin does, but with P-256: making and checking
// its P-521 keys took a quarter of the time of a start.
func NewIdentity() (*tls.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key for the connection: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 128))
	if err != nil {
		return nil, fmt.Errorf("make a certificate for the connection: %w", err)
	}
	const host = "localhost" // what go-plugin expects
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber:          serial,
		DNSNames:              []string{host},
		NotBefore:             now.Add(-time.Minute),
		NotAfter:              now.AddDate(30, 0, 0), // a connection lasts as long as the process
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate for the connection: %w", err)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		RootCAs:      x509.NewCertPool(), // empty: nil would be the system's
		ClientCAs:    x509.NewCertPool(),
		MinVersion:   tls.VersionTLS12,
		ServerName:   host,
	}, nil
}

// Trust makes a certificate, in DER, the only one that a side accepts.
func Trust(side *tls.Config, certificate []byte) error {
	parsed, err := x509.ParseCertificate(certificate)
	if err != nil {
		return fmt.Errorf("read the certificate of the other side: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	side.RootCAs, side.ClientCAs = pool, pool
	return nil
}

// Certificate returns a side's certificate in PEM, as [HostCertificate] has it.
func Certificate(side *tls.Config) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: side.Certificates[0].Certificate[0]}))
}

// NewPluginIdentity returns the plugin's side of its connections, which accepts only the host that started the process. It is nil
// if that host has no certificate.
func NewPluginIdentity() (*tls.Config, error) {
	host := os.Getenv(HostCertificate)
	if host == "" {
		return nil, nil
	}
	block, _ := pem.Decode([]byte(host))
	if block == nil {
		return nil, errors.New("the host's certificate is not in PEM")
	}
	side, err := NewIdentity()
	if err != nil {
		return nil, err
	}
	return side, Trust(side, block.Bytes)
}

// Introduce gives the plugin's certificate to the host, before the plugin serves. It returns false if the host does not take it:
// an earlier host reads it from the line in which the plugin says where it serves.
func (l *Line) Introduce(ctx context.Context, side *tls.Config) (taken bool, err error) {
	_, err = l.ask(ctx, request{Identify: side.Certificates[0].Certificate[0]}, false)
	if _, refused := errors.AsType[*Refusal](err); refused {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("tell the host who serves: %w", err)
	}
	return true, nil
}

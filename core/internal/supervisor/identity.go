package supervisor

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"
)

// clientCertificate is the variable with which go-plugin gives a plugin the only certificate that it accepts, in PEM. The plugin
// answers with its own, the only one that the host accepts then.
const clientCertificate = "PLUGIN_CLIENT_CERT"

// newIdentity makes a key and a certificate for one connection, and returns the host's side of it and the certificate for the plugin.
// It does what AutoMTLS of go-plugin does, but with P-256, because making and checking its P-521 keys takes a tenth of the CPU time
// of a start.
func newIdentity() (*tls.Config, string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, "", fmt.Errorf("make a key for the plugin's connection: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 128))
	if err != nil {
		return nil, "", fmt.Errorf("make a certificate for the plugin's connection: %w", err)
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
		return nil, "", fmt.Errorf("make a certificate for the plugin's connection: %w", err)
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		ClientAuth:   tls.RequireAndVerifyClientCert, // of the connections that the plugin opens
		MinVersion:   tls.VersionTLS12,
		ServerName:   host,
	}
	return config, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), nil
}

package hostapi

import "github.com/clawhost/clawhost/sdk/pluginv1"

// MediaStore is the service of an instance's files, without a connection.
func (a *API) MediaStore(instance string) pluginv1.MediaStoreServer {
	return mediaServer{caller: a.caller(instance)}
}

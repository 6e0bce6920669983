package bridge

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"testing"
)

// FuzzServeNative: whatever a browser's pipe brings, the host answers with one
// whole message or with none.
func FuzzServeNative(f *testing.F) {
	f.Add(native(`{"v":1,"type":"servers"}`).Bytes())
	f.Add(native(`{"v":2,"type":"servers"}`).Bytes())
	f.Add(native(`[]`).Bytes())
	f.Add([]byte{1, 0, 0})
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		var out bytes.Buffer
		err := ServeNative(dir, ourID, "chrome-extension://"+ourID+"/", bytes.NewReader(data), &out)
		switch {
		case err != nil && out.Len() > 0:
			t.Errorf("an answer and an error: %q, %v", out.String(), err)
		case err == nil && (int(binary.LittleEndian.Uint32(out.Bytes())) != out.Len()-4 || !json.Valid(out.Bytes()[4:])):
			t.Errorf("answer %q", out.String())
		}
	})
}

package bridge

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"testing"
)

// FuzzServeNative checks that the host writes only complete messages, and at least one unless it
// returns an error, for any input.
func FuzzServeNative(f *testing.F) {
	f.Add(native(`{"v":1,"type":"servers"}`).Bytes())
	f.Add(native(`{"v":2,"type":"servers"}`).Bytes())
	f.Add(native(`[]`).Bytes())
	f.Add([]byte{1, 0, 0})
	f.Add(append(native(`{"v":1,"type":"servers"}`).Bytes(), 9, 0, 0)) // a request, and a part of another
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		var out bytes.Buffer
		err := ServeNative(dir, []string{ourID}, "chrome-extension://"+ourID+"/", bytes.NewReader(data), &out)
		answers := 0
		for rest := out.Bytes(); len(rest) > 0; answers++ {
			if len(rest) < 4 || uint64(len(rest)-4) < uint64(binary.LittleEndian.Uint32(rest)) {
				t.Fatalf("incomplete message: %q", out.String())
			}
			n := 4 + int(binary.LittleEndian.Uint32(rest))
			if !json.Valid(rest[4:n]) {
				t.Errorf("message %q is not JSON", rest[4:n])
			}
			rest = rest[n:]
		}
		if err == nil && answers == 0 {
			t.Error("neither a message nor an error")
		}
	})
}

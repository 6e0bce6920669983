package webp

import (
	"bytes"
	"encoding/binary"
)

// Size returns the width and height of a WebP file. It reports false if data is not one.
func Size(data []byte) (width, height int, ok bool) {
	if len(data) < 30 || !bytes.HasPrefix(data, []byte("RIFF")) || string(data[8:12]) != "WEBP" {
		return 0, 0, false
	}
	chunk, body := string(data[12:16]), data[20:]
	switch {
	case chunk == "VP8 " && bytes.Equal(body[3:6], []byte{0x9d, 0x01, 0x2a}): // a key frame
		width, height = int(binary.LittleEndian.Uint16(body[6:])&0x3fff), int(binary.LittleEndian.Uint16(body[8:])&0x3fff)
	case chunk == "VP8L" && body[0] == 0x2f:
		v := binary.LittleEndian.Uint32(body[1:])
		width, height = int(v&0x3fff)+1, int(v>>14&0x3fff)+1
	case chunk == "VP8X":
		width, height = int(uint24(body[4:]))+1, int(uint24(body[7:]))+1
	}
	return width, height, width > 0 && height > 0
}

func uint24(b []byte) uint32 { return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 }

package webapi

// DecodeUTF8 is the text of bytes; what is no UTF-8 becomes U+FFFD, one for each maximal part of a character.
func DecodeUTF8(b []byte) string { return decodeUTF8(b) }

// IncompleteUTF8 is how many bytes at the end begin a character that is not complete.
func IncompleteUTF8(b []byte) int { return incompleteTail(b) }

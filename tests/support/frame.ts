/** A message as streams and gRPC send it: flags, its length, its bytes. */
export function frame(message: Uint8Array | string, flags = 0, length = Buffer.byteLength(message)): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flags, 0);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, Buffer.from(message as string)]);
}

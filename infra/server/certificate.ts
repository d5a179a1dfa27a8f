import { createPrivateKey, createPublicKey, generateKeyPairSync, X509Certificate, type KeyObject } from "node:crypto";
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { isIP } from "node:net";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import type { Logger } from "pino";
import { generate } from "selfsigned";
import type { Clock } from "../../commands/ports/index.js";
import { day, toText, type Instant } from "../../domain/shared/index.js";
import { makePrivate, makePrivateDirectory, syncDirectory } from "../files/private.js";

const validDays = 3_650;
/** A phone whose clock is behind must not find the certificate to be of tomorrow. */
const backdatedDays = 1;
const renewBeforeDays = 30;

/** What we show to whoever connects, and the key that proves that it is ours. Both are PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
  /** The sha256 of the DER, as upper-case hex with colons: what a phone pins. */
  readonly fingerprint: string;
}

export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** Where certificates come from: the owner's own files, or one that we make and keep in the data directory. */
export interface CertificateSource {
  readonly files: CertificateFiles | null;
  readonly dataDirectory: string;
  /** The name or address under which clients reach us; a certificate that we make is also for this. */
  readonly host: string;
}

/** A certificate that cannot be used. The message names the file, and never says what is in it. */
class CertificateError extends Error {
  override readonly name = "CertificateError";
}

/**
 * The owner's certificate if files are given, ours otherwise. Ours is made on the first start and stays the same, since
 * phones have pinned it: a damaged one is an error, and only one that expires is replaced, which the log says.
 */
export async function loadCertificate(source: CertificateSource, clock: Clock, logger: Logger): Promise<Certificate> {
  if (source.files === null) return loadOurs(source, clock.now(), logger);
  const { certificate, expiresAt } = readPair(source.files);
  if (expiresAt <= clock.now()) throw new CertificateError(`${source.files.certFile}: expired on ${toText(expiresAt)}`);
  return certificate;
}

/**
 * The key is written first and never replaced. Whatever a crash leaves behind is then complete: nothing, a key for
 * which a certificate can still be made, or both; and a renewal is a single rename.
 */
async function loadOurs(
  { dataDirectory, host }: CertificateSource,
  now: Instant,
  logger: Logger,
): Promise<Certificate> {
  makePrivateDirectory(dataDirectory);
  const files = { certFile: join(dataDirectory, "tls-cert.pem"), keyFile: join(dataDirectory, "tls-key.pem") };
  const { certFile, keyFile } = files;

  if (!existsSync(certFile)) {
    if (!existsSync(keyFile)) writeDurably(keyFile, makeKey());
    writeDurably(certFile, await selfSign(parseKey(keyFile, readText(keyFile)), host, now));
    const { certificate } = readPair(files);
    logger.info({ certFile, fingerprint: certificate.fingerprint }, "made a self-signed certificate");
    return certificate;
  }

  makePrivate(keyFile);
  makePrivate(certFile);
  const { certificate: old, expiresAt, isSelfSigned } = readPair(files);
  if (!isSelfSigned) throw new CertificateError(`${certFile}: is damaged, or is not the one that was made here`);
  if (now < expiresAt - renewBeforeDays * day) return old;
  writeDurably(certFile, await selfSign(createPrivateKey(old.key), host, now));
  const { certificate } = readPair(files);
  logger.warn(
    { certFile, expiresAt: toText(expiresAt), was: old.fingerprint, fingerprint: certificate.fingerprint },
    "made a new self-signed certificate, because the old one expires: devices must trust its fingerprint anew",
  );
  return certificate;
}

function makeKey(): string {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}

async function selfSign(key: KeyObject, host: string, now: Instant): Promise<string> {
  const { cert } = await generate([{ name: "commonName", value: "Pincer" }], {
    keyType: key.asymmetricKeyType === "rsa" ? "rsa" : "ec",
    keyPair: {
      privateKey: key.export({ type: "pkcs8", format: "pem" }).toString(),
      publicKey: createPublicKey(key).export({ type: "spki", format: "pem" }).toString(),
    },
    algorithm: "sha256",
    notBeforeDate: new Date(now - backdatedDays * day),
    notAfterDate: new Date(now + validDays * day),
    extensions: [
      { name: "basicConstraints", cA: false, critical: true },
      { name: "keyUsage", digitalSignature: true, critical: true },
      { name: "extKeyUsage", serverAuth: true },
      {
        name: "subjectAltName",
        altNames: namesFor(host).map((name) => (isIP(name) === 0 ? { type: 2, value: name } : { type: 7, ip: name })),
      },
    ],
  });
  return cert;
}

/** The addresses that mean "every address" are nobody's name. */
function namesFor(host: string): string[] {
  const names = ["localhost", "127.0.0.1", "::1", hostname(), host];
  const isName = (name: string) => isIP(name) !== 0 || /^[a-z0-9._-]+$/i.test(name);
  return [...new Set(names)].filter((name) => isName(name) && !["0.0.0.0", "::"].includes(name));
}

interface Pair {
  readonly certificate: Certificate;
  readonly expiresAt: Instant;
  /** Also tells that not a bit of it has changed. */
  readonly isSelfSigned: boolean;
}

function readPair({ certFile, keyFile }: CertificateFiles): Pair {
  const cert = readText(certFile);
  const x509 = parse(certFile, "a PEM certificate", () => new X509Certificate(cert));
  const key = readText(keyFile);
  if (!x509.checkPrivateKey(parseKey(keyFile, key))) {
    throw new CertificateError(`${keyFile}: is not the key of the certificate in ${certFile}`);
  }
  return {
    certificate: { cert, key, fingerprint: x509.fingerprint256 },
    expiresAt: Date.parse(x509.validTo),
    isSelfSigned: x509.verify(x509.publicKey),
  };
}

function parseKey(keyFile: string, key: string): KeyObject {
  return parse(keyFile, "a PEM private key without a passphrase", () => createPrivateKey(key));
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const { code = "unknown error" } = error as NodeJS.ErrnoException;
    throw new CertificateError(`${file}: cannot be read (${code})`, { cause: error });
  }
}

/** Why it could not be parsed is OpenSSL's language and nobody's help. */
function parse<T>(file: string, what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new CertificateError(`${file}: is not ${what}`, { cause: error });
  }
}

/** After a power cut there is the old file or the new one, as private as the other. */
function writeDurably(file: string, text: string): void {
  const temporary = `${file}.new`;
  rmSync(temporary, { force: true }); // Left by a crash, if it is there.
  const descriptor = openSync(temporary, "wx", 0o600);
  try {
    writeFileSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(temporary, file);
  syncDirectory(dirname(file));
}

import { describe, expect, test } from "@jest/globals";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { day } from "../../../domain/shared/index.js";
import { systemClock } from "../../../infra/ports/system-clock.js";
import { loadCertificate, type CertificateFiles } from "../../../infra/server/certificate.js";
import { quiet } from "../../support/backend.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();

const certFile = () => join(bench.path, "tls-cert.pem");
const keyFile = () => join(bench.path, "tls-key.pem");

function ours(now = systemClock.now(), { logger = quiet, host = "127.0.0.1", dataDirectory = bench.path } = {}) {
  return loadCertificate({ files: null, dataDirectory, host }, { now: () => now }, logger);
}

function theirs(files: CertificateFiles, now = systemClock.now()) {
  return loadCertificate({ files, dataDirectory: bench.path, host: "localhost" }, { now: () => now }, quiet);
}

const modeOf = (file: string) => statSync(file).mode & 0o777;

describe("our own certificate", () => {
  test("is made once and stays the same, wherever we listen later", async () => {
    const first = await ours();
    expect(await ours(systemClock.now(), { host: "elsewhere.test" })).toEqual(first);
    expect(first.fingerprint).toMatch(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/);
    expect(new X509Certificate(first.cert).fingerprint256).toBe(first.fingerprint);
  });

  test("is for this machine by every name, for ten years, on a P-256 key", async () => {
    const x509 = new X509Certificate((await ours(systemClock.now(), { host: "pincer.example.test" })).cert);
    for (const name of ["localhost", "pincer.example.test", hostname()]) expect(x509.checkHost(name)).toBeDefined();
    for (const address of ["127.0.0.1", "::1"]) expect(x509.checkIP(address)).toBeDefined();
    expect(Math.round((Date.parse(x509.validTo) - Date.now()) / day)).toBe(3_650);
    expect(Date.parse(x509.validFrom)).toBeLessThan(Date.now());
    expect(x509.ca).toBe(false);
    expect(x509.publicKey.asymmetricKeyDetails).toEqual({ namedCurve: "prime256v1" });
  });

  test("is also for the address it was made for, but not for every address", async () => {
    const other = await ours(systemClock.now(), { host: "192.0.2.7" });
    expect(new X509Certificate(other.cert).checkIP("192.0.2.7")).toBeDefined();
    const every = await ours(systemClock.now(), { host: "0.0.0.0", dataDirectory: bench.elsewhere("every") });
    expect(new X509Certificate(every.cert).subjectAltName).not.toContain("0.0.0.0");
  });

  test("belongs to its owner alone, also after a careless restore, and leaves no other file", async () => {
    await ours();
    expect([modeOf(certFile()), modeOf(keyFile())]).toEqual([0o600, 0o600]);
    expect(readdirSync(bench.path).sort()).toEqual(["tls-cert.pem", "tls-key.pem"]);
    chmodSync(keyFile(), 0o644);
    await ours();
    expect(modeOf(keyFile())).toBe(0o600);
  });

  test("is made in a directory that is not there yet", async () => {
    await ours(systemClock.now(), { dataDirectory: join(bench.path, "not", "yet") });
    expect(existsSync(join(bench.path, "not", "yet", "tls-cert.pem"))).toBe(true);
  });

  test("is completed after a crash between key and certificate, whatever lies around", async () => {
    const { key } = await ours();
    rmSync(certFile());
    writeFileSync(`${certFile()}.new`, "half a certif", { mode: 0o644 });
    expect((await ours()).key).toBe(key);
    expect(modeOf(certFile())).toBe(0o600);
    expect(existsSync(`${certFile()}.new`)).toBe(false);
  });

  test("is made anew in its last thirty days, and the log says so", async () => {
    const lines: string[] = [];
    const logger = pino({ level: "warn" }, { write: (line) => lines.push(line) });
    const start = systemClock.now();
    const old = await ours(start, { logger });
    expect(await ours(start + (3_650 - 31) * day, { logger })).toEqual(old);
    expect(lines).toEqual([]);

    const renewed = await ours(start + (3_650 - 29) * day, { logger });
    expect(renewed.fingerprint).not.toBe(old.fingerprint);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(renewed.fingerprint);
    expect(lines[0]).not.toContain("PRIVATE");
    expect(await ours(start + 3_650 * day, { logger })).toEqual(renewed);
    expect(modeOf(certFile())).toBe(0o600);
  });

  test.each([
    ["certificate", certFile],
    ["key", keyFile],
  ])("is never replaced when the %s is damaged", async (_what, file) => {
    await ours();
    const whole = readFileSync(file(), "utf8");
    for (const damaged of ["", "no PEM", whole.slice(0, whole.length / 2), whole.replace(/\n.{8}/, "\n")]) {
      writeFileSync(file(), damaged);
      await expect(ours()).rejects.toThrow(`${file()}: is not a PEM`);
      expect(readFileSync(file(), "utf8")).toBe(damaged);
    }
  });

  test("is not served with a single bit changed, even if it still reads as a certificate", async () => {
    const { cert } = await ours();
    const der = Buffer.from(new X509Certificate(cert).raw);
    der[der.length - 1]! ^= 1; // In the signature.
    writeFileSync(certFile(), `-----BEGIN CERTIFICATE-----\n${der.toString("base64")}\n-----END CERTIFICATE-----\n`);
    await expect(ours()).rejects.toThrow(`${certFile()}: is damaged`);
  });

  test("is never replaced when its key is lost", async () => {
    const { cert } = await ours();
    rmSync(keyFile());
    await expect(ours()).rejects.toThrow(`${keyFile()}: cannot be read (ENOENT)`);
    expect(readFileSync(certFile(), "utf8")).toBe(cert);
    expect(existsSync(keyFile())).toBe(false);
  });
});

describe("the owner's certificate", () => {
  test("is used as it is, and nothing is written", async () => {
    const made = await ours(systemClock.now(), { dataDirectory: bench.elsewhere("a") });
    const files = { certFile: join(bench.path, "a", "tls-cert.pem"), keyFile: join(bench.path, "a", "tls-key.pem") };
    expect(await theirs(files)).toEqual(made);
    expect(readdirSync(bench.path)).toEqual(["a"]);
  });

  test("that cannot be read is named", async () => {
    await ours();
    const missing = join(bench.path, "missing.pem");
    await expect(theirs({ certFile: missing, keyFile: keyFile() })).rejects.toThrow(`${missing}: cannot be read`);
    await expect(theirs({ certFile: certFile(), keyFile: missing })).rejects.toThrow(`${missing}: cannot be read`);
    await expect(theirs({ certFile: bench.path, keyFile: keyFile() })).rejects.toThrow(`${bench.path}: cannot be read`);
  });

  test("with another's key is refused", async () => {
    await ours();
    await ours(systemClock.now(), { dataDirectory: bench.elsewhere("b") });
    const otherKey = join(bench.path, "b", "tls-key.pem");
    await expect(theirs({ certFile: certFile(), keyFile: otherKey })).rejects.toThrow(
      `${otherKey}: is not the key of the certificate in ${certFile()}`,
    );
  });

  test("with files confused, or a key under a passphrase, is refused without saying what is in it", async () => {
    const { key } = await ours();
    await expect(theirs({ certFile: keyFile(), keyFile: certFile() })).rejects.toThrow(
      `${keyFile()}: is not a PEM cer`,
    );
    const locked = { type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "x" } as const;
    writeFileSync(keyFile(), createPrivateKey(key).export(locked));
    const files = { certFile: certFile(), keyFile: keyFile() };
    await expect(theirs(files)).rejects.toThrow(`${keyFile()}: is not a PEM private key without a passphrase`);
  });

  test("that has expired is refused, and never replaced", async () => {
    const made = await ours();
    const files = { certFile: certFile(), keyFile: keyFile() };
    const inElevenYears = systemClock.now() + 4_000 * day;
    await expect(theirs(files, inElevenYears)).rejects.toThrow(`${certFile()}: expired on 20`);
    expect(await theirs(files)).toEqual(made);
  });
});

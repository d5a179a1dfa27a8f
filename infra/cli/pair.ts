import { timestampDate } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import qrcode from "qrcode-terminal";
import { AuthService } from "../../proto/gen/pincer/protocol/v1/auth_pb.js";
import { showPairingCode } from "../auth/pairing-code.js";
import type { CliContext } from "./context.js";
import { exitCodes } from "./exit.js";
import { soon, withServer } from "./socket.js";

/** What a device needs to know to be paired. */
export interface Invitation {
  readonly server_url: string;
  /** Empty without TLS. */
  readonly certificate_fingerprint: string;
  readonly code: string;
}

/** Asks the server for a pairing code and shows it. */
export async function pair(context: CliContext): Promise<number> {
  const answer = await withServer(context, (transport) =>
    createClient(AuthService, transport).createPairingCode({}, soon(context)),
  );
  const invitation = {
    server_url: answer.serverUrl,
    certificate_fingerprint: answer.certificateFingerprint,
    code: answer.code,
  };
  const expires_at = answer.expiresAt === undefined ? "" : timestampDate(answer.expiresAt).toISOString();
  context.output.print({ ...invitation, expires_at, uri: pairingUri(invitation) }, () =>
    invitationText(invitation, `until ${expires_at}`, process.stdout.isTTY),
  );
  return exitCodes.fine;
}

/** For people; on a terminal also as a picture, for phones. */
export function invitationText(invitation: Invitation, howLong: string, isTerminal: boolean): string {
  const { server_url, certificate_fingerprint, code } = invitation;
  const lines = [`code         ${showPairingCode(code)}  (${howLong})`, `server       ${server_url}`];
  if (certificate_fingerprint !== "") lines.push(`certificate  ${certificate_fingerprint}`);
  if (isTerminal) qrcode.generate(pairingUri(invitation), { small: true }, (picture) => lines.push("", picture));
  return lines.join("\n");
}

/** The fingerprint without its colons, which would make a picture that is harder to read. */
export function pairingUri({ server_url, certificate_fingerprint, code }: Invitation): string {
  const fingerprint = certificate_fingerprint.replaceAll(":", "");
  const query = new URLSearchParams({ url: server_url, code, ...(fingerprint !== "" && { fingerprint }) });
  return `pincer://pair?${query.toString()}`;
}

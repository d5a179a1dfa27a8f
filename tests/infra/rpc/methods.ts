import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { readdirSync } from "node:fs";
import { AuthService } from "../../../proto/gen/pincer/protocol/v1/auth_pb.js";

const generated = new URL("../../../proto/gen/pincer/protocol/v1/", import.meta.url);

/** Every method of every service that the protocol's generated files describe: none can be forgotten. */
export async function allMethods(): Promise<DescMethod[]> {
  const names = readdirSync(generated).flatMap((file) => /^(\w+_pb)\.[tj]s$/.exec(file)?.[1] ?? []);
  const files = await Promise.all(
    names.map(async (name) => (await import(`../../../proto/gen/pincer/protocol/v1/${name}.js`)) as object),
  );
  return files.flatMap((file) => Object.values(file).filter(isService)).flatMap(({ methods }) => methods);
}

/** All but the one by which strangers come in. */
export async function guardedMethods(): Promise<DescMethod[]> {
  return (await allMethods()).filter((method) => method !== AuthService.method.bindPairingCode);
}

export function nameOf(method: DescMethod): string {
  return `${method.parent.name}/${method.name}`;
}

function isService(thing: unknown): thing is DescService {
  return typeof thing === "object" && thing !== null && "kind" in thing && thing.kind === "service";
}

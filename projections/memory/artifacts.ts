import { artifacts } from "../../read-models/memory/index.js";
import { deleteErased } from "../shared/erased.js";
import { owner } from "../shared/owner.js";
import type { Projection } from "../shared/projection.js";

export const artifactsProjection: Projection = {
  name: "artifacts",
  version: 1,
  tables: [artifacts],
  on: {
    artifactCreated({ threadId, envelope, payload, occurredAt, position }, write) {
      if (payload === null || envelope === null) return;
      write.insert(artifacts, {
        artifact_id: payload.artifactId,
        user_id: owner,
        thread_id: payload.threadId === "" ? (threadId ?? "") : payload.threadId,
        job_id: envelope.jobId || null,
        type: payload.mediaType,
        title: payload.title,
        created_at: occurredAt,
        position,
        blob: payload.content,
      });
    },
    threadDeleted({ threadId }, write) {
      if (threadId !== null) write.delete(artifacts, { thread_id: threadId });
    },
    eventsErased({ payload }, write) {
      deleteErased(payload, artifacts, {}, write);
    },
  },
};

export { findHeartbeatConfig, heartbeatConfig, type HeartbeatConfigRow } from "./heartbeat-config.js";

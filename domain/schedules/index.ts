export { configureHeartbeat, evolveHeartbeat, initialHeartbeat, type Heartbeat } from "./heartbeat.js";

export { approvalNeeded, notificationQueued, type Notice } from "./notification.js";

export { approvalExpiring, approvalNeeded, notificationQueued, type Notice } from "./notification.js";

export { approvalNeeded, notificationQueued } from "./notification.js";

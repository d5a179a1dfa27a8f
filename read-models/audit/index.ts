export { auditLog, listAudit, type AuditFilter, type AuditRow } from "./audit-log.js";

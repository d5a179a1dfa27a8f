export { judge, type Ruling } from "./policy.js";
export {
  parametersOf,
  tool,
  Toolbox,
  type ExternalTool,
  type InternalTool,
  type Tool,
  type ToolResult,
} from "./tool.js";
